/**
 * A change of one file. `noticedMs` is monotonic. An event equal to the last one of its path is not emitted.
 *
 * - content: these are its bytes now.
 * - tooLarge: it has more bytes than are read.
 * - unreadable: it can't be read or examined; it is retried.
 * - gone: there is no regular file at the path any more.
 */
export type FileEvent =
  | {
      readonly kind: "content";
      readonly path: string;
      readonly realPath: string;
      readonly bytes: Buffer;
      /** The listener asked for it once more. */
      readonly isRetry: boolean;
      readonly noticedMs: number;
    }
  | {
      readonly kind: "tooLarge";
      readonly path: string;
      readonly realPath: string;
      readonly size: number;
      readonly noticedMs: number;
    }
  | { readonly kind: "unreadable"; readonly path: string; readonly error: Error }
  | { readonly kind: "gone"; readonly path: string; readonly noticedMs: number };

export interface FileListener {
  /**
   * A file changed. The next event of any file waits for the promise, so that files are handled one after the other. "retry" asks for
   * the content once more at the next periodic re-scan, and each time after twice as many. An error ends the run of the watcher.
   */
  event(event: FileEvent): "done" | "retry" | Promise<"done" | "retry">;
  /** Called once: all files that were there at the start have been reported, or are still being written after a second. */
  synced(): void;
  /** The directory is absent, can't be read, or is away with its volume: nothing is known of its files until `found`. Called when the reason changes. */
  lost(error: Error): void;
  found(): void;
  /** A directory below can't be read, or one can't be watched; files known before stay. Called when the reason changes. */
  directoryError(path: string, error: Error): void;
}
