export type { FileEvent, FileListener } from "./watch/file-event.js";
export { isNotFound } from "./watch/file-stamp.js";
export { watchedFile, WatchedDirectory, type WatchedDirectoryOptions } from "./watch/watched-directory.js";
