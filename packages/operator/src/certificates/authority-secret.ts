import { X509Certificate } from "node:crypto";
import type { Authorities, Authority } from "./authority.js";
import { bundleOf } from "./bundle.js";
import { base64, storedList, type SecretContent, type SecretObject } from "./secret-content.js";

/** What is stored of an authority; its times are those of its certificate. */
type StoredAuthority = Omit<Authority, "validFromMs" | "validToMs">;

const storedKey = "authorities.json";
/** For people, and for programs that verify by a file. It is never read. */
const bundleKey = "ca.crt";

/** The Secret that holds the authorities of the webhooks. */
export const authoritySecret = authoritySecretCalled("bunting-operator-ca", "the operator's authority");

/** That of the proxy, which other programs verify: theirs take longer to hear of a new one than API servers do. */
export const proxyAuthoritySecret = authoritySecretCalled("bunting-proxy-ca", "the proxy's authority");

function authoritySecretCalled(name: string, what: string): SecretContent<Authority> {
  return { name, what, read: readAuthorities, dataOf };
}

function readAuthorities(secret: SecretObject): Authorities {
  return (storedList(secret, storedKey) as readonly StoredAuthority[]).map((each) => {
    const { validFrom, validTo } = new X509Certificate(each.cert);
    return { ...each, validFromMs: Date.parse(validFrom), validToMs: Date.parse(validTo) };
  });
}

function dataOf(authorities: Authorities): Readonly<Record<string, string>> {
  const stored = authorities.map(({ cert, key, trustedMs, retiredMs }) => ({
    cert,
    key,
    trustedMs,
    retiredMs,
  }));
  return { [storedKey]: base64(JSON.stringify(stored)), [bundleKey]: base64(bundleOf(authorities)) };
}
