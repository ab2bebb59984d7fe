export type { FileEvent, FileListener } from "./watch/file-event.js";
export { isNotFound } from "./watch/file-stamp.js";
export { watchedFile, WatchedDirectory, type WatchedDirectoryOptions } from "./watch/watched-directory.js";
export type { TextDocument, ParsedText, TextPosition, TextWarning } from "./text/parsed-text.js";
export { readText } from "./text/read-text.js";
export { defaultTextLimits, type TextLimits } from "./text/text-limits.js";
