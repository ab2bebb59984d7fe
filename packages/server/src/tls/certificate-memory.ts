import type { X509Certificate } from "node:crypto";

/** Bytes of a handshake in which a client presents a certificate or two. */
const shortBytes = 4 * 1024;
/** The certificates of an ordinary client: its own, and those of up to three authorities. Each has up to 3 KB, with its keys and names. */
const ordinary = { bytes: 12 * 1024, certificates: 4 };
/**
 * What OpenSSL and node hold of a client's certificates as long as the connection lasts, whether or not they have to do with its
 * own. Measured: 8 KiB of each of many small ones, which is 18 bytes for each of theirs, and 7 bytes for each of one that has many
 * names.
 */
const held = { perCertificate: 5 * 1024, perByte: 7, perByteAtMost: 18 };

/** What the bytes that a client has sent in a handshake that goes on may take, beyond those of a short one. */
export function heldByHandshake(sentBytes: number): number {
  return Math.max(0, sentBytes - shortBytes) * held.perByteAtMost;
}

/**
 * What the certificates that a client has presented take, beyond those of an ordinary one.
 *
 * @param sentBytes what it has sent so far: its first request may be among them
 */
export function heldByCertificates(certificate: X509Certificate, sentBytes: number): number {
  if (sentBytes <= shortBytes) return 0;
  let bytes = 0;
  let certificates = 0;
  let next: X509Certificate | undefined = certificate;
  // All together are not more than was sent.
  for (; next !== undefined && bytes < sentBytes; next = next.issuerCertificate) {
    bytes += next.raw.length;
    certificates++;
  }
  return (
    Math.max(0, bytes - ordinary.bytes) * held.perByte +
    Math.max(0, certificates - ordinary.certificates) * held.perCertificate
  );
}
