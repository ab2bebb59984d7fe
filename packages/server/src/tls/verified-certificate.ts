import type { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "@bunting/http2";
import { validToMs } from "./certificates-in-pem.js";
import type { ClientAuthorities } from "./client-authorities.js";

/** `expired`: the certificate has expired. `untrusted`: its authority is no longer among those that are trusted. */
export type Distrust = "expired" | "untrusted";

/** The certificate of a client, which OpenSSL has verified at the handshake. */
export class VerifiedCertificate implements PeerCertificate {
  readonly uriSans: readonly string[];
  readonly validToMs: number;
  readonly #certificate: X509Certificate;
  readonly #authorities: ClientAuthorities;
  /** Version of the authorities of the last verification. */
  #version: number;

  /** @param version of the authorities with which OpenSSL has verified it */
  constructor(certificate: X509Certificate, authorities: ClientAuthorities, version: number) {
    this.uriSans = uriSansOf(certificate.subjectAltName);
    this.validToMs = validToMs(certificate);
    this.#certificate = certificate;
    this.#authorities = authorities;
    this.#version = version;
  }

  /** Reason to end its connection now, if there is one. */
  distrust(nowMs = Date.now()): Distrust | undefined {
    if (nowMs >= this.validToMs) return "expired";
    if (this.#version === this.#authorities.version) return undefined;
    const { version, removalVersion } = this.#authorities;
    const intermediates = intermediatesOf(this.#certificate);
    // Node 24 does not show which a client has sent: by what way it is trusted is unknown then, but no way has gone.
    const isUnchanged = intermediates.length === 0 && removalVersion <= this.#version;
    if (!isUnchanged && !this.#authorities.haveIssued(this.#certificate, intermediates, nowMs))
      return "untrusted";
    this.#version = version;
    return undefined;
  }
}

/** Certificates that the client sent beyond its own; none after a resumed session, and with Node 24. */
function intermediatesOf(certificate: X509Certificate): X509Certificate[] {
  const intermediates: X509Certificate[] = [];
  for (let one = certificate.issuerCertificate; one !== undefined; one = one.issuerCertificate) {
    if (intermediates.length === maxIntermediates) break;
    intermediates.push(one);
  }
  return intermediates;
}

const maxIntermediates = 8;

/** A name as node writes it: values with quotes, commas or control characters are JSON strings. */
const altName = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;

/** URIs among the alternative names; none if any part is malformed: a name must not be read into another's value. */
export function uriSansOf(subjectAltName: string | undefined): string[] {
  if (subjectAltName === undefined) return [];
  const uris: string[] = [];
  altName.lastIndex = 0;
  while (altName.lastIndex < subjectAltName.length) {
    const [, type, value = ""] = altName.exec(subjectAltName) ?? [];
    if (type === undefined) return [];
    if (type !== "URI") continue;
    const uri: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof uri === "string") uris.push(uri);
  }
  return uris;
}
