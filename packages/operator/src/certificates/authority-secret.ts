import { X509Certificate } from "node:crypto";
import type { Authorities, Authority } from "./authority.js";
import { bundleOf } from "./bundle.js";
import { base64, storedList, type SecretContent } from "./secret-content.js";

/** What is stored of an authority; its times are those of its certificate. */
type StoredAuthority = Omit<Authority, "validFromMs" | "validToMs">;

const storedKey = "authorities.json";
/** For people, and for programs that verify by a file. It is never read. */
const bundleKey = "ca.crt";

/** The Secret that holds the authorities. */
export const authoritySecret: SecretContent<Authority> = {
  name: "bunting-operator-ca",
  what: "the operator's authority",
  read: (secret) =>
    (storedList(secret, storedKey) as readonly StoredAuthority[]).map((each) => {
      const { validFrom, validTo } = new X509Certificate(each.cert);
      return { ...each, validFromMs: Date.parse(validFrom), validToMs: Date.parse(validTo) };
    }),
  dataOf: (authorities: Authorities) => {
    const stored = authorities.map(({ cert, key, trustedMs, retiredMs }) => ({
      cert,
      key,
      trustedMs,
      retiredMs,
    }));
    return { [storedKey]: base64(JSON.stringify(stored)), [bundleKey]: base64(bundleOf(authorities)) };
  },
};
