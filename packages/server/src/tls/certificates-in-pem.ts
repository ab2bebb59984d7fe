import { X509Certificate } from "node:crypto";

const begin = /-----BEGIN (?:X509 )?CERTIFICATE-----/g;
const block = /-----BEGIN (X509 |)CERTIFICATE-----[^-]+-----END \1CERTIFICATE-----/g;

/**
 * All certificates of a file in PEM, in their order.
 *
 * @throws Error if one is not whole, as when the file is being written, or is none.
 */
export function certificatesInPem(pem: Buffer): X509Certificate[] {
  const text = pem.toString("latin1");
  const blocks = text.match(block) ?? [];
  if (blocks.length !== (text.match(begin)?.length ?? 0)) throw new Error("a certificate in it is not whole");
  return blocks.map((one) => new X509Certificate(one));
}

/** In milliseconds since 1970. */
export function validToMs({ validTo }: X509Certificate): number {
  return Date.parse(validTo);
}

export function validFromMs({ validFrom }: X509Certificate): number {
  return Date.parse(validFrom);
}

/** Empty if it has none, as certificates of SPIFFE: node's types do not say that it is undefined then. */
export function subjectOf(certificate: { readonly subject?: string }): string {
  return certificate.subject ?? "";
}
