import { nextTurn } from "@bunting/runtime/scheduling";
import { Composer, Lexer, Parser, YAMLWarning, type Document } from "yaml";
import { namingTemplate } from "./helm-template.js";
import { lineIndex } from "./line-index.js";
import { readError, type TextDocument, type ParsedText, type TextPosition } from "./parsed-text.js";
import type { TextLimits } from "./text-limits.js";
import { TextReadError, tooDeep, tooLarge, yamlTooLarge } from "./text-read-error.js";
import { checkTree } from "./check-tree.js";
import { yamlErrorMessage } from "./yaml-error-message.js";
import { yamlErrorPlace } from "./yaml-error-place.js";
import { valuesOf } from "./yaml-values.js";
import { warningsOf, yamlPlaces } from "./yaml-tree.js";

/** About 3 ms worth of each. */
const lexemesPerSlice = 2_000;
const charactersPerSlice = 8_000;

/**
 * What a lexeme takes on the heap until all is read: 160 to 330 bytes were measured, over documents of flags, lists and small maps. By
 * the byte of text it is 90 to 500, too far apart to judge a text by its size.
 */
const heapPerLexeme = 360;

/**
 * The same of each character, beyond the first twelve, of text that the library puts together from pieces: character by character in double
 * quotes, line by line otherwise.
 */
const heapPerPiecedCharacter = 48;
const heapPerCharacter = 2;

/** What an alias takes in addition: 600 to 1,100 bytes were measured for it and the comma behind it. */
const heapPerAlias = 900;

/** What a document takes in addition: each has a schema of its own. */
const heapPerDocument = 3_000;

/** More warnings of the library about one text are dropped. */
const maxWarnings = 1_000;

/**
 * Reads YAML 1.2, any number of documents. Keys are the text that stands there (`1.10` stays "1.10"); merge keys (`<<`) work, as they
 * do in kubectl. A duplicate key is an error.
 *
 * The library takes more than half a second for a megabyte of YAML, three quarters of it for tokens, and the same thread serves
 * applications: so tokens are taken in slices, with the event loop let through in between. It also takes a hundred times the size of the
 * text on the heap while it works: so texts are read one after the other, and one that the heap has no room for is given up, because V8
 * would end the process.
 */
export function readYaml(text: string, limits: TextLimits): Promise<ParsedText> {
  const reading = turn.then(async () => namingTemplate(text, await readNow(text, limits)));
  turn = reading.catch(() => undefined);
  return reading;
}

let turn: Promise<unknown> = Promise.resolve();

async function readNow(text: string, limits: TextLimits): Promise<ParsedText> {
  const positionAt = lineIndex(text);
  try {
    const heapBytes = limits.heapBytes();
    const { trees, heapTaken } = await compose(text, limits.maxDepth, heapBytes);
    const documents: TextDocument[] = [];
    for (const tree of trees) {
      checkTree(tree, limits, heapBytes - heapTaken);
      documents.push(toDocument(tree, positionAt));
      if (text.length > charactersPerSlice) await nextTurn();
    }
    return { kind: "documents", documents };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error instanceof TextReadError) {
      const { code, message, offset } = error;
      return readError(code, message, positionAt(yamlErrorPlace(text, offset, message)));
    }
    // V8's word for what takes too much of the stack, or is too long a text.
    if (error instanceof RangeError) return readError("too_large", yamlTooLarge);
    // For malicious input the library throws an error of its own.
    return readError("syntax", error.message);
  }
}

function toDocument(tree: Document.Parsed, positionAt: (offset: number) => TextPosition): TextDocument {
  const places = yamlPlaces(tree);
  return {
    value: valuesOf(tree),
    positionOf: (path) => positionAt(places(path)),
    warnings: () => warningsOf(tree, positionAt),
  };
}

async function compose(
  text: string,
  maxDepth: number,
  heapBytes: number,
): Promise<{ readonly trees: readonly Document.Parsed[]; readonly heapTaken: number }> {
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    resolveKnownTags: false,
    merge: true,
    stringKeys: true,
    // Checked by `checkTree`: the library compares every key of a map with every other.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  const parts = composer as unknown as ComposerParts;
  stopAtFirstError(parts);
  const trees: Document.Parsed[] = [];
  const parser = new Parser();
  let lexemes = 0;
  let heapTaken = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      trees.push(...composer.next(token));
      throwNoted(parts);
    }
    // Checked before the library composes it by recursion: close to the end of the stack V8 may end the whole process.
    if (parser.stack.length > 2 * maxDepth) throw tooDeep(parser.offset, maxDepth);
    heapTaken += heapOf(lexeme);
    if (heapTaken + trees.length * heapPerDocument > heapBytes) throw tooLarge(parser.offset);
    if (++lexemes % lexemesPerSlice === 0) await nextTurn();
  }
  if (lexemes > lexemesPerSlice) await nextTurn();
  for (const token of parser.end()) {
    trees.push(...composer.next(token));
    throwNoted(parts);
  }
  trees.push(...composer.end());
  if (lexemes > lexemesPerSlice) await nextTurn();
  return { trees, heapTaken: heapTaken + trees.length * heapPerDocument };
}

function heapOf(lexeme: string): number {
  if (lexeme.startsWith("*")) return heapPerLexeme + heapPerAlias;
  if (lexeme.length <= 12) return heapPerLexeme;
  const isPieced = lexeme.startsWith('"') || lexeme.includes("\n");
  return heapPerLexeme + (lexeme.length - 12) * (isPieced ? heapPerPiecedCharacter : heapPerCharacter);
}

/** Private parts of the library's composer. */
interface ComposerParts {
  readonly errors: readonly LibraryError[];
  readonly doc: { readonly errors: readonly LibraryError[] } | null;
  readonly warnings: YAMLWarning[];
  onError: (source: ErrorSource, code: YAMLWarning["code"], message: string, isWarning?: boolean) => void;
}

interface LibraryError {
  readonly pos: readonly [number, number];
  readonly message: string;
}

type ErrorSource = number | readonly [number, ...number[]] | { readonly offset: number };

/**
 * The library goes on after an error and makes an `Error` of each, with a stack: 60,000 bad escapes in one string fill the heap of an agent.
 * The first is enough to refuse a text, but no option stops there.
 */
function stopAtFirstError(parts: ComposerParts): void {
  let warnings = 0;
  let first: TextReadError | undefined;
  parts.onError = (source, code, message, isWarning) => {
    const offset = typeof source === "number" ? source : "offset" in source ? source.offset : source[0];
    if (isWarning !== true) {
      // The library catches what is thrown inside of a collection, and reports it again as an error of the collection.
      first ??= new TextReadError("syntax", offset, yamlErrorMessage(message));
      throw first;
    }
    if (++warnings <= maxWarnings) parts.warnings.push(new YAMLWarning([offset, offset], code, message));
  };
}

/** Throws the error that the library noted itself, if any. */
function throwNoted({ errors, doc }: ComposerParts): void {
  const error = errors[0] ?? doc?.errors[0];
  if (error === undefined) return;
  throw new TextReadError("syntax", error.pos[0], yamlErrorMessage(error.message), { cause: error });
}
