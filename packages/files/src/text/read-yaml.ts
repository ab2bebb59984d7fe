import { setImmediate } from "node:timers/promises";
import { Composer, Lexer, LineCounter, Parser, type Document } from "yaml";
import { readError, type ParsedDocument, type ParsedText } from "./parsed-text.js";
import type { TextLimits } from "./text-limits.js";
import { TextReadError, tooDeep, tooLarge } from "./text-read-error.js";
import { checkTree } from "./check-tree.js";
import { findOffset, warningsOf } from "./yaml-tree.js";

/** About 3 ms worth of each. */
const lexemesPerSlice = 2_000;
const charactersPerSlice = 8_000;

/**
 * What a lexeme takes on the heap until all is read: 160 to 330 bytes were measured, over documents of flags, lists and small maps. By
 * the byte of text it is 90 to 500, too far apart to judge a text by its size.
 */
const heapPerLexeme = 360;

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
  const reading = turn.then(() => readNow(text, limits));
  turn = reading.catch(() => undefined);
  return reading;
}

let turn: Promise<unknown> = Promise.resolve();

async function readNow(text: string, limits: TextLimits): Promise<ParsedText> {
  const lines = new LineCounter();
  try {
    const heapBytes = limits.heapBytes();
    const { trees, lexemes } = await compose(text, lines, limits.maxDepth, heapBytes);
    const documents: ParsedDocument[] = [];
    for (const tree of trees) {
      const [error] = tree.errors;
      if (error !== undefined) throw new TextReadError("syntax", error.pos[0], error.message);
      checkTree(tree, limits, heapBytes - lexemes * heapPerLexeme);
      documents.push(toDocument(tree, lines));
      if (text.length > charactersPerSlice) await setImmediate();
    }
    return { kind: "documents", documents };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // For malicious input the library throws an error of its own.
    if (!(error instanceof TextReadError)) return readError("syntax", error.message);
    const { line, col } = lines.linePos(error.offset);
    return readError(error.reason, error.message, { line, column: col });
  }
}

function toDocument(tree: Document.Parsed, lines: LineCounter): ParsedDocument {
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  return {
    // The library's own limit on aliases is too low for honest use of anchors; values were counted by `checkTree`.
    value: tree.toJS({ maxAliasCount: -1 }) as ParsedDocument["value"],
    lineOf: (path) => lineAt(findOffset(tree, path)),
    warnings: () => warningsOf(tree, lineAt),
  };
}

async function compose(
  text: string,
  lines: LineCounter,
  maxDepth: number,
  heapBytes: number,
): Promise<{ readonly trees: readonly Document.Parsed[]; readonly lexemes: number }> {
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
  const trees: Document.Parsed[] = [];
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) trees.push(...composer.next(token));
    // Checked before the library composes it by recursion: close to the end of the stack V8 may end the whole process.
    if (parser.stack.length > 2 * maxDepth) throw tooDeep(parser.offset, maxDepth);
    if (++lexemes * heapPerLexeme > heapBytes) throw tooLarge(parser.offset);
    if (lexemes % lexemesPerSlice === 0) await setImmediate();
  }
  if (lexemes > lexemesPerSlice) await setImmediate();
  for (const token of parser.end()) trees.push(...composer.next(token));
  trees.push(...composer.end());
  if (lexemes > lexemesPerSlice) await setImmediate();
  return { trees, lexemes };
}
