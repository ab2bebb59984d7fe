import { GatheredBytes } from "@bunting/runtime";
import type { HttpExchange } from "./http-exchange.js";

/** How much of a body that is too large is read and discarded, so that its client gets to read the answer instead of a reset. */
const maxDiscardedBytes = 16 * 1024 * 1024;

/** The size up to which a body is not charged: what a connection is charged for anyway covers it. */
const smallBytes = 4 * 1024;

const nothing = Buffer.alloc(0);

/**
 * Collects a request's body. Exactly one of the callbacks is called, once; neither if the client goes away before the body's end.
 *
 * A body of more than `maxBytes` (0: no limit) is not kept. It is refused at its end, because many clients do not read while they send;
 * or once `maxDiscardedBytes` of it have come, and then the connection must be closed.
 *
 * @param onTooLarge gets the headers to refuse it with: those that close the connection, if it must be.
 */
export function readBody(
  exchange: HttpExchange,
  maxBytes: number,
  onBody: (body: Buffer) => void,
  onTooLarge: (headers: Readonly<Record<string, string>>) => void,
): void {
  const { request } = exchange;
  const limit = maxBytes === 0 ? Infinity : maxBytes;
  // Most bodies come in one chunk and end with it, in the same turn: such a chunk is used where it is.
  const wholeBytes = Number(request.headers["content-length"]);
  let whole: Buffer | undefined;
  let gathered: GatheredBytes | undefined;
  let bytes = 0;
  let chargedBytes = 0;
  let isRefused = false;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (chunk.length === wholeBytes && bytes === wholeBytes && bytes <= smallBytes && bytes <= limit)
      whole = chunk;
    else if (bytes <= limit) {
      gathered ??= new GatheredBytes();
      gathered.push(chunk);
      const { allocatedBytes } = gathered;
      if (allocatedBytes <= smallBytes || allocatedBytes === chargedBytes) return;
      exchange.charge(allocatedBytes - chargedBytes);
      chargedBytes = allocatedBytes;
    } else {
      gathered?.clear();
      exchange.release();
      if (isRefused || bytes <= limit + maxDiscardedBytes) return;
      isRefused = true;
      exchange.countRefusal("message_size");
      onTooLarge(exchange.closing());
    }
  });
  request.on("end", () => {
    if (isRefused) return;
    if (bytes > limit) {
      exchange.countRefusal("message_size");
      onTooLarge({});
    } else {
      exchange.release();
      onBody(whole ?? gathered?.take() ?? nothing);
    }
  });
  // A broken connection needs no further report.
  request.on("error", () => undefined);
}
