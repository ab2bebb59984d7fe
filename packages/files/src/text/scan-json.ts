import type { TextLimits } from "./text-limits.js";

/** The place of one JSON value in a text, or what keeps the text from being JSON there. */
export type JsonScan =
  | { readonly kind: "value"; readonly start: number; readonly end: number; readonly found: number }
  | { readonly kind: "error"; readonly offset: number; readonly message: string };

/**
 * Walks the JSON value that begins at or after `from`, without building it: JSON.parse does that, but says neither where in the
 * text a key is, nor always where an error is, nor that a key is a duplicate. `found` is where the key or item at `path` begins, or
 * the nearest around it.
 */
export function scanJson(
  text: string,
  limits: Pick<TextLimits, "maxDepth" | "maxValues">,
  from = 0,
  path: readonly string[] = [],
): JsonScan {
  const scanner = new JsonScanner(text, limits, from, path);
  try {
    const start = scanner.skipSpace();
    scanner.value(0, 0);
    return { kind: "value", start, end: scanner.offset, found: scanner.found ?? start };
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    return { kind: "error", offset: error.offset, message: error.message };
  }
}

class JsonTextError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const scalar = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null/y;

const quote = 0x22;
const openBracket = 0x5b;
const openBrace = 0x7b;

class JsonScanner {
  readonly #text: string;
  readonly #limits: Pick<TextLimits, "maxDepth" | "maxValues">;
  readonly #path: readonly string[];
  #values = 0;
  offset: number;
  found: number | undefined;

  constructor(
    text: string,
    limits: Pick<TextLimits, "maxDepth" | "maxValues">,
    from: number,
    path: readonly string[],
  ) {
    this.#text = text;
    this.#limits = limits;
    this.#path = path;
    this.offset = from;
  }

  /** `matched` is how many keys of the path led here; -1 if others did. */
  value(depth: number, matched: number): void {
    const { maxDepth, maxValues } = this.#limits;
    if (depth > maxDepth) this.#fail(`values are nested more than ${maxDepth} deep`);
    if (++this.#values > maxValues) this.#fail(`there are more than ${maxValues} values`);
    const next = this.#text.charCodeAt(this.skipSpace());
    if (next === quote) this.#string();
    else if (next === openBrace) this.#object(depth, matched);
    else if (next === openBracket) this.#array(depth, matched);
    else if (this.#take(scalar) === undefined) this.#unexpected("a value");
  }

  skipSpace(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.offset);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return this.offset;
      this.offset++;
    }
  }

  #object(depth: number, matched: number): void {
    this.offset++;
    if (this.#isNext("}")) return;
    const keys = new Set<string>();
    do {
      const start = this.skipSpace();
      const key = unquote(this.#string());
      if (keys.has(key)) this.#fail(`duplicate key ${JSON.stringify(key)}`, start);
      keys.add(key);
      const within = this.#follow(key, matched, start);
      if (!this.#isNext(":")) this.#unexpected('":"');
      this.value(depth + 1, within);
    } while (this.#isNext(","));
    if (!this.#isNext("}")) this.#unexpected('"," or "}"');
  }

  #array(depth: number, matched: number): void {
    this.offset++;
    if (this.#isNext("]")) return;
    let index = 0;
    do {
      const within = this.#follow(String(index), matched, this.skipSpace());
      this.value(depth + 1, within);
      index++;
    } while (this.#isNext(","));
    if (!this.#isNext("]")) this.#unexpected('"," or "]"');
  }

  #follow(key: string, matched: number, start: number): number {
    if (matched < 0 || key !== this.#path[matched]) return -1;
    this.found = start;
    return matched + 1;
  }

  #string(): string {
    if (this.#text.charCodeAt(this.offset) !== quote) this.#unexpected("a key in double quotes");
    const token = this.#take(string);
    if (token === undefined)
      this.#fail("this text has no end, or a character in it that JSON does not allow");
    return token;
  }

  #isNext(character: string): boolean {
    if (this.#text[this.skipSpace()] !== character) return false;
    this.offset++;
    return true;
  }

  #take(pattern: RegExp): string | undefined {
    const start = this.offset;
    pattern.lastIndex = start;
    if (!pattern.test(this.#text)) return undefined;
    this.offset = pattern.lastIndex;
    return this.#text.slice(start, this.offset);
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

/** The text a JSON string stands for. */
function unquote(token: string): string {
  return token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);
}
