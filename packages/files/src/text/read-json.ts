import type { JsonValue } from "@bunting/protocol";
import { jsonPlaces } from "./json-places.js";
import { lineIndex } from "./line-index.js";
import { readError, type TextDocument, type ParsedText, type TextWarning } from "./parsed-text.js";
import { duplicateKey, scanJson } from "./scan-json.js";
import type { TextLimits } from "./text-limits.js";
import { jsonTooLarge } from "./text-read-error.js";

/** What a value takes on the heap at least; 100 bytes were measured for empty lists, with the stages after this one. */
const heapPerValue = 64;

/** More duplicate keys are not named. */
const maxDuplicates = 100;

/**
 * Reads JSON: one value, or several one after the other. Of keys that are there twice the later one counts, as in flagd, with a warning.
 *
 * @param isStrict a duplicate key is an error, as it is in YAML
 */
export function readJson(text: string, limits: TextLimits, isStrict = false): ParsedText {
  const positionAt = lineIndex(text);
  const heapBytes = limits.heapBytes() - 2 * text.length;
  let values = 0;
  const documents: TextDocument[] = [];
  for (let from = skipSpace(text, 0); from < text.length;) {
    const warnings: TextWarning[] = [];
    const warn = (key: string, offset: number): void => {
      const message = `${duplicateKey(key)}: the later one counts`;
      if (warnings.length < maxDuplicates) warnings.push({ kind: "other", message, ...positionAt(offset) });
    };
    const scan = scanJson(text, limits, from, undefined, isStrict ? undefined : warn);
    if (scan.kind === "error") return readError("syntax", scan.message, positionAt(scan.offset));
    const { start, end } = scan;
    values += scan.values;
    if (values * heapPerValue > heapBytes) return readError("too_large", jsonTooLarge, positionAt(start));
    const places = jsonPlaces(text, limits, start);
    documents.push({
      value: JSON.parse(text.slice(start, end)) as JsonValue,
      positionOf: (path) => positionAt(places(path)),
      warnings: () => warnings,
    });
    from = skipSpace(text, end);
  }
  return { kind: "documents", documents };
}

function skipSpace(text: string, from: number): number {
  const rest = /[^ \t\r\n]/g;
  rest.lastIndex = from;
  return rest.exec(text)?.index ?? text.length;
}
