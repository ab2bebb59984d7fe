export type { FileEvent, FileListener } from "./watch/file-event.js";
export { watchedFile, WatchedDirectory, type WatchedDirectoryOptions } from "./watch/watched-directory.js";
export type { ParsedDocument, ParsedText, TextError, TextWarning } from "./text/parsed-text.js";
export { readText } from "./text/read-text.js";
export { defaultTextLimits, freeHeapBytes, type TextLimits } from "./text/text-limits.js";
