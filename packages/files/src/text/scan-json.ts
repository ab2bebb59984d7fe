import { cut } from "@bunting/runtime/options";
import type { TextLimits } from "./text-limits.js";

/** The place of one JSON value in a text, or what keeps the text from being JSON there. */
export type JsonScan =
  | { readonly kind: "value"; readonly start: number; readonly end: number; readonly values: number }
  | { readonly kind: "error"; readonly offset: number; readonly message: string };

/**
 * Walks the JSON value that begins at or after `from`, without building it: JSON.parse does that, but reports neither where in the
 * text a key is, nor always where an error is, nor that a key is a duplicate. `onChild` is called for each key or item directly in the
 * value, with the offset where the key or item begins and the one where its value does. Without `onDuplicate` a duplicate key is an error.
 */
export function scanJson(
  text: string,
  limits: Pick<TextLimits, "maxDepth" | "maxValues">,
  from = 0,
  onChild: OnChild = ignore,
  onDuplicate?: OnDuplicate,
): JsonScan {
  const walk = new JsonTextWalk(text, limits, from, onChild, onDuplicate);
  try {
    const start = walk.skipSpace();
    walk.value(0);
    return { kind: "value", start, end: walk.offset, values: walk.values };
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    return { kind: "error", offset: error.offset, message: error.message };
  }
}

/** Called with each key that its object has already, of which the later one counts. */
export type OnDuplicate = (key: string, offset: number) => void;

export type OnChild = (key: string, offset: number, valueOffset: number) => void;

function ignore(): void {
  // No place is asked for.
}

class JsonTextError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** Not one expression with the escapes, which takes the stack of each character: a text may have millions. */
const plainText = /[^"\\\u0000-\u001f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const scalar = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null/y;

const quote = 0x22;
const openBracket = 0x5b;
const openBrace = 0x7b;

class JsonTextWalk {
  readonly #text: string;
  readonly #limits: Pick<TextLimits, "maxDepth" | "maxValues">;
  readonly #onChild: OnChild;
  readonly #onDuplicate: OnDuplicate;
  values = 0;
  offset: number;

  constructor(
    text: string,
    limits: Pick<TextLimits, "maxDepth" | "maxValues">,
    from: number,
    onChild: OnChild,
    onDuplicate: OnDuplicate = (key, offset) => this.#fail(duplicateKey(key), offset),
  ) {
    this.#text = text;
    this.#limits = limits;
    this.#onChild = onChild;
    this.#onDuplicate = onDuplicate;
    this.offset = from;
  }

  value(depth: number): void {
    const { maxDepth, maxValues } = this.#limits;
    if (depth > maxDepth) this.#fail(`values are nested more than ${maxDepth} deep`);
    if (++this.values > maxValues) this.#fail(`there are more than ${maxValues} values`);
    const next = this.#text.charCodeAt(this.skipSpace());
    if (next === quote) this.#string();
    else if (next === openBrace) this.#object(depth);
    else if (next === openBracket) this.#array(depth);
    else if (!this.#skip(scalar)) this.#unexpected("a value");
  }

  skipSpace(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.offset);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return this.offset;
      this.offset++;
    }
  }

  #object(depth: number): void {
    this.offset++;
    if (this.#isNext("}")) return;
    const keys = new Set<string>();
    do {
      const start = this.skipSpace();
      const key = unquote(this.#string());
      if (keys.has(key)) this.#onDuplicate(key, start);
      keys.add(key);
      if (!this.#isNext(":")) this.#unexpected('":"');
      if (depth === 0) this.#onChild(key, start, this.skipSpace());
      this.value(depth + 1);
    } while (this.#isNext(","));
    if (!this.#isNext("}")) this.#unexpected('"," or "}"');
  }

  #array(depth: number): void {
    this.offset++;
    if (this.#isNext("]")) return;
    let index = 0;
    do {
      if (depth === 0) this.#onChild(String(index), this.skipSpace(), this.offset);
      this.value(depth + 1);
      index++;
    } while (this.#isNext(","));
    if (!this.#isNext("]")) this.#unexpected('"," or "]"');
  }

  #string(): string {
    const start = this.offset;
    if (this.#text.charCodeAt(start) !== quote) this.#unexpected("a key in double quotes");
    this.offset++;
    do this.#skip(plainText);
    while (this.#skip(escape));
    if (this.#text.charCodeAt(this.offset) !== quote)
      this.#fail("this text has no end, or a character in it that JSON does not allow", start);
    this.offset++;
    return this.#text.slice(start, this.offset);
  }

  #isNext(character: string): boolean {
    if (this.#text[this.skipSpace()] !== character) return false;
    this.offset++;
    return true;
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.offset;
    if (!pattern.test(this.#text)) return false;
    this.offset = pattern.lastIndex;
    return true;
  }

  #unexpected(expected: string): never {
    const next = this.#text[this.offset];
    const found = next === undefined ? "the text ends" : `there is ${JSON.stringify(next)}`;
    this.#fail(`expected ${expected}, but ${found}`);
  }

  #fail(message: string, offset = this.offset): never {
    throw new JsonTextError(offset, message);
  }
}

export function duplicateKey(key: string): string {
  return `duplicate key ${JSON.stringify(cut(key, 200))}`;
}

/** The text a JSON string stands for. */
function unquote(token: string): string {
  return token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);
}
