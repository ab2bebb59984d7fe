import type { Socket } from "node:net";

/** What HTTP/2 clients send first (RFC 9113 3.4). */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
const tlsHandshake = 0x16;

export type SniffedProtocol = "http2" | "http1" | "tls";

/**
 * Finds out what a new connection speaks. The bytes looked at are put back, so that who takes the socket over sees all of them. A
 * client that has not said enough after `timeoutMs` is given to `onTimeout`; one that left is given to nobody. Returns a function that calls it off.
 */
export function sniffPreface(
  socket: Socket,
  timeoutMs: number,
  onSniffed: (protocol: SniffedProtocol) => void,
  onTimeout: () => void,
): () => void {
  let seen: Buffer | undefined;
  const stop = (): void => {
    clearTimeout(timer);
    socket.off("readable", onReadable);
    socket.off("close", stop);
  };
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    seen = seen === undefined ? chunk : Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === undefined) return;
    stop();
    socket.unshift(seen);
    onSniffed(protocol);
  };
  const timer = setTimeout(() => {
    stop();
    onTimeout();
  }, timeoutMs);
  socket.on("readable", onReadable);
  socket.on("close", stop);
  return stop;
}

/** Undefined while the bytes may still become a preface, of which all must be there: what comes after has no deadline. */
function protocolOf(seen: Buffer): SniffedProtocol | undefined {
  const length = Math.min(seen.length, preface.length);
  if (seen.compare(preface, 0, length, 0, length) === 0)
    return length === preface.length ? "http2" : undefined;
  return seen[0] === tlsHandshake ? "tls" : "http1";
}
