import type { JsonValue } from "@bunting/protocol";
import { LineIndex } from "./line-index.js";
import { readError, type ParsedDocument, type ParsedText } from "./parsed-text.js";
import { scanJson } from "./scan-json.js";
import type { TextLimits } from "./text-limits.js";

/** Reads JSON: one value, or several one after the other. A duplicate key is an error, as it is in YAML. */
export function readJson(text: string, limits: TextLimits): ParsedText {
  const lines = new LineIndex(text);
  const documents: ParsedDocument[] = [];
  for (let from = skipSpace(text, 0); from < text.length;) {
    const scan = scanJson(text, limits, from);
    if (scan.kind === "error") return readError("syntax", scan.message, lines.positionOf(scan.offset));
    const { start, end } = scan;
    documents.push({
      value: JSON.parse(text.slice(start, end)) as JsonValue,
      lineOf: (path) => {
        const place = scanJson(text, limits, start, path);
        return lines.positionOf(place.kind === "value" ? place.found : start).line;
      },
      warnings: () => [],
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
