/** Bytes of a handshake of a client that presents its own certificate and those of three authorities, with the longest usual keys. */
const ordinaryBytes = 10 * 1024;
/** Bytes of a handshake in which a client presents a certificate or two. */
const shortBytes = 4 * 1024;
/**
 * What OpenSSL and node hold for each further byte, as long as the connection lasts, whether or not the certificates have to do
 * with the client's own. Measured: 18 for many small certificates, and 7 for one that has many names; a bit more, for those that
 * are free.
 */
const heldPerByte = 24;

/** What a handshake that goes on may take beyond a short one, by the bytes that the client has sent so far. */
export function heldByHandshake(sentBytes: number): number {
  return Math.max(0, sentBytes - shortBytes) * heldPerByte;
}

/** What the certificates of a connection take beyond those of an ordinary client, by the bytes of its handshake. */
export function heldByCertificates(handshakeBytes: number): number {
  return Math.max(0, handshakeBytes - ordinaryBytes) * heldPerByte;
}
