import { setImmediate } from "node:timers/promises";
import { Composer, Lexer, LineCounter, Parser, type Document } from "yaml";
import { maxDepth, type ParsedDocument, type ParsedText } from "./parsed-text.js";
import { readYamlDocument, tooDeep, YamlTextError } from "./yaml-document.js";

/** About 3 ms worth of each. */
const lexemesPerSlice = 2_000;
const charactersPerSlice = 8_000;

/**
 * Reads YAML 1.2, any number of documents. Keys are the text that stands there (`1.10` stays "1.10"); merge keys (`<<`) work, as they
 * do in kubectl.
 *
 * The library takes more than half a second for a megabyte of YAML, three quarters of it for tokens, and the same thread serves the
 * subscribers: so tokens are taken in slices, with the event loop let through in between.
 */
export async function parseYamlText(text: string): Promise<ParsedText> {
  const lines = new LineCounter();
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  try {
    const documents: ParsedDocument[] = [];
    for (const document of await compose(text, lines)) {
      documents.push(readYamlDocument(document, lineAt));
      if (text.length > charactersPerSlice) await setImmediate();
    }
    return { kind: "documents", documents };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // The library itself gives up only on what is built to hurt it: nesting without end, aliases of aliases.
    const line = error instanceof YamlTextError ? lineAt(error.offset) : 1;
    return { kind: "invalid", line, message: error.message };
  }
}

async function compose(text: string, lines: LineCounter): Promise<Document.Parsed[]> {
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    resolveKnownTags: false,
    merge: true,
    stringKeys: true,
    // Checked by ourselves: the library compares every key of a map with every other.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  const documents: Document.Parsed[] = [];
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) documents.push(...composer.next(token));
    // Checked here, before the library composes it by recursion: close to the end of the stack V8 may end the whole process.
    if (parser.stack.length > 2 * maxDepth) throw tooDeep(parser.offset);
    if (++lexemes % lexemesPerSlice === 0) await setImmediate();
  }
  if (lexemes > lexemesPerSlice) await setImmediate();
  for (const token of parser.end()) documents.push(...composer.next(token));
  documents.push(...composer.end());
  if (lexemes > lexemesPerSlice) await setImmediate();
  return documents;
}
