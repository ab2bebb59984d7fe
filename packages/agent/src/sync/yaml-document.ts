import { setImmediate } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { Document, LineCounter } from "yaml";

/** A file that is no flag document, or none this process could read. */
export class YamlDocumentError extends Error {
  override readonly name = "YamlDocumentError";
  readonly reason: "malformed" | "too_large";

  constructor(reason: "malformed" | "too_large", message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** About 3 ms worth; the same thread answers evaluations. */
const lexemesPerSlice = 2_000;
/**
 * What a lexeme takes on the heap until all is JSON: 160 to 330 bytes were measured, over documents of flags, lists and small maps.
 * By the byte it is 90 to 500, too far apart to judge a file by its size.
 */
const heapPerLexeme = 360;
/** Deeper nesting is refused: the library walks documents by recursion, and close to the end of its stack V8 ends the process. */
const maxDepth = 200;

/** True if files of this name are read as YAML. */
export function isYamlName(path: string): boolean {
  return /\.ya?ml$/i.test(path);
}

/** What the heap has left, garbage not counted as free. */
export function freeHeapBytes(): number {
  const { heap_size_limit, used_heap_size } = getHeapStatistics();
  return Math.max(0, heap_size_limit - used_heap_size);
}

/**
 * Turns YAML 1.2 into the bytes of the same document as JSON. The parser is loaded on first use: it costs 9 MB, and most agents never
 * see a YAML file. It also takes some hundred times the size of the text while it works, so that it is stopped before the heap is full:
 * V8 would end the process.
 *
 * @param heapBytes what it may take
 * @throws YamlDocumentError
 */
export async function jsonOfYaml(bytes: Buffer, heapBytes: number): Promise<Buffer> {
  const yaml = await import("yaml");
  const lines = new yaml.LineCounter();
  try {
    const documents = await compose(bytes.toString(), lines, yaml, Math.floor(heapBytes / heapPerLexeme));
    return Buffer.from(canonicalJson(onlyObject(documents, lines)));
  } catch (cause) {
    if (cause instanceof YamlDocumentError) throw cause;
    // The library gives up in its own words on what is built to hurt it, such as aliases of aliases.
    throw malformed((cause as Error).message, cause);
  }
}

async function compose(
  text: string,
  lines: LineCounter,
  { Composer, Lexer, Parser }: typeof import("yaml"),
  maxLexemes: number,
): Promise<readonly Document.Parsed[]> {
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    resolveKnownTags: false,
    merge: true,
    stringKeys: true,
    // The library would compare each key of a map with all others. Like JSON.parse, let the last one win.
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
    if (parser.stack.length > 2 * maxDepth) throw malformed(`it is nested more than ${maxDepth} deep`);
    if (++lexemes > maxLexemes) {
      throw new YamlDocumentError(
        "too_large",
        "there is not enough memory to read it as YAML: write it as JSON, which needs a fraction, or give the agent more memory",
      );
    }
    if (lexemes % lexemesPerSlice === 0) await setImmediate();
  }
  for (const token of parser.end()) documents.push(...composer.next(token));
  documents.push(...composer.end());
  return documents;
}

function onlyObject(documents: readonly Document.Parsed[], lines: LineCounter): JsonObject {
  const [document, second] = documents;
  if (second !== undefined) throw malformed("it holds several YAML documents, and a source is one");
  const error = document?.errors[0];
  if (error !== undefined)
    throw malformed(`line ${lines.linePos(error.pos[0]).line}: ${error.message}`, error);
  const value = document?.toJS() as JsonValue | undefined;
  if (!isJsonObject(value)) throw malformed('a flag document is a mapping with the key "flags"');
  return value;
}

function malformed(message: string, cause?: unknown): YamlDocumentError {
  return new YamlDocumentError("malformed", message, cause === undefined ? undefined : { cause });
}
