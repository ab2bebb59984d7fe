/** What became of one file. News of one file come one after the other; `noticedMs` is of the monotonic clock. */
export type FileNews =
  | {
      readonly kind: "content";
      readonly path: string;
      readonly realPath: string;
      readonly bytes: Buffer;
      readonly noticedMs: number;
    }
  | {
      readonly kind: "tooLarge";
      readonly path: string;
      readonly realPath: string;
      readonly size: bigint;
      readonly noticedMs: number;
    }
  | { readonly kind: "unreadable"; readonly path: string; readonly error: Error }
  | { readonly kind: "gone"; readonly path: string; readonly noticedMs: number };
