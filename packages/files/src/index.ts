export type { FileEvent } from "./watch/file-event.js";
export { isNotFound } from "./watch/file-stamp.js";
export { watchedFile, WatchedDirectory } from "./watch/watched-directory.js";
export { TooManyFilesError } from "./watch/directory-listing.js";
