import { readError, type ParsedText, type TextPosition } from "./parsed-text.js";
import { lineIndex } from "./line-index.js";

/** Actions that only templates of Helm have; that a value holds braces is no sign. */
const action =
  /\{\{-?\s*(?:(?:\$?\.|\$\.)(?:Values|Release|Chart|Files|Capabilities|Template)\b|(?:include|toYaml|tpl|if|else|range|with|define|template|end)\b|\/\*)/;

/** The place at which a text shows that it is a template of Helm which was not rendered; undefined if it does not. */
export function helmActionIn(text: string): TextPosition | undefined {
  const at = action.exec(text)?.index;
  return at === undefined ? undefined : lineIndex(text)(at);
}

export const unrenderedTemplate =
  "this is a template of Helm that is not rendered: read what Helm makes of it, as with helm template CHART | bunting lint -";

/** An error of syntax in a template says nothing about what its author can mend. */
export function namingTemplate(text: string, parsed: ParsedText): ParsedText {
  if (parsed.kind !== "error" || parsed.reason !== "syntax") return parsed;
  const place = helmActionIn(text);
  return place === undefined ? parsed : readError("syntax", unrenderedTemplate, place);
}
