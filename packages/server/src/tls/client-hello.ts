/** Clients send about 2 KB, with the largest key shares. OpenSSL gathers up to 128 KB. */
export const maxClientHelloBytes = 16 * 1024;

const handshakeRecord = 0x16;
const recordHeadBytes = 5;
const messageHeadBytes = 4;

/**
 * The size of the ClientHello that a connection begins with, once all of it is in these bytes; undefined before. Infinity for what OpenSSL is not
 * to see: one that is too large, in tiny records, or none at all.
 */
export function wholeClientHelloBytes(seen: Buffer): number | undefined {
  let announced: number | undefined;
  let gathered = 0;
  for (let at = 0; announced === undefined || gathered < announced;) {
    if (seen.length < at + recordHeadBytes) return undefined;
    const recordBytes = seen.readUInt16BE(at + 3);
    // Those of a message may be in several records; no client divides its head.
    if (seen[at] !== handshakeRecord || recordBytes < messageHeadBytes) return Number.POSITIVE_INFINITY;
    at += recordHeadBytes;
    if (announced === undefined) {
      if (seen.length < at + messageHeadBytes) return undefined;
      announced = messageHeadBytes + seen.readUIntBE(at + 1, 3);
      if (announced > maxClientHelloBytes) return Number.POSITIVE_INFINITY;
    }
    gathered += Math.min(recordBytes, seen.length - at);
    at += recordBytes;
  }
  return announced;
}
