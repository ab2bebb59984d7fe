import type { JsonValue } from "@bunting/protocol";
import { LineIndex } from "./line-index.js";
import type { ParsedDocument, ParsedText } from "./parsed-text.js";
import { scanJson } from "./scan-json.js";

/** Reads JSON: one value, or several one after the other. A key that is there twice is an error, as it is in YAML. */
export function parseJsonText(text: string): ParsedText {
  const lines = new LineIndex(text);
  const documents: ParsedDocument[] = [];
  for (let from = skipSpace(text, 0); from < text.length;) {
    const scan = scanJson(text, from);
    if (scan.kind === "error") {
      return { kind: "invalid", line: lines.lineAt(scan.offset), message: scan.message };
    }
    const { start, end } = scan;
    documents.push({
      value: JSON.parse(text.slice(start, end)) as JsonValue,
      lineOf: (path) => {
        const place = scanJson(text, start, path);
        return lines.lineAt(place.kind === "value" ? place.found : start);
      },
      remarks: () => [],
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
