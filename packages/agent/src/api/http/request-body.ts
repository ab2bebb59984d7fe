import type { IncomingMessage } from "node:http";

/** How much of a body that is too large is read on and thrown away, so that its client gets to read the answer, not a reset. */
const maxDiscardedBytes = 16 * 1024 * 1024;

/**
 * Collects a request's body. Exactly one of the callbacks is called, once; neither if the client goes away before its end.
 *
 * A body beyond `maxBytes` (0: no bound) is not kept. Its refusal comes when it has ended, as a client that is still sending often
 * does not read; or once `maxDiscardedBytes` of it came, and then the connection must be closed: `isWholeRead` says which.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  onBody: (body: Buffer) => void,
  onTooLarge: (isWholeRead: boolean) => void,
): void {
  const limit = maxBytes === 0 ? Infinity : maxBytes;
  let chunks: Buffer[] = [];
  let bytes = 0;
  let isRefused = false;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= limit) chunks.push(chunk);
    else {
      chunks = [];
      if (isRefused || bytes <= limit + maxDiscardedBytes) return;
      isRefused = true;
      onTooLarge(false);
    }
  });
  request.on("end", () => {
    if (isRefused) return;
    if (bytes > limit) onTooLarge(true);
    else onBody(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
  });
  // What else there is to say of a broken connection, its close says.
  request.on("error", () => undefined);
}
