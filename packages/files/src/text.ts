export { helmActionIn, unrenderedTemplate } from "./text/helm-template.js";
export type { TextDocument, TextPosition } from "./text/parsed-text.js";
export { readText } from "./text/read-text.js";
export { defaultTextLimits, type TextLimits } from "./text/text-limits.js";
