import { X509Certificate } from "node:crypto";
import type { KubeObject } from "@bunting/kube";
import type { Authorities, Authority } from "./authority.js";
import { bundleOf } from "./bundle.js";

/** The Secret that holds the authorities, in the operator's own namespace. */
export const authoritySecretName = "bunting-operator-ca";

export const secretType = { group: "", version: "v1", plural: "secrets" } as const;

/** A Secret's data: values in base64. */
export interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** What is stored of an authority; its times are those of its certificate. */
type StoredAuthority = Omit<Authority, "validFromMs" | "validToMs">;

const storedKey = "authorities.json";
/** For people, and for programs that verify by a file. It is never read. */
const bundleKey = "ca.crt";

/**
 * Reads what a Secret holds: nothing, if it was made without data.
 *
 * @throws Error with the reason, if somebody else has written it
 */
export function authoritiesOfSecret({ data = {} }: SecretObject): Authorities {
  const text = data[storedKey];
  if (text === undefined) return [];
  const stored: unknown = JSON.parse(Buffer.from(text, "base64").toString("utf8"));
  if (!Array.isArray(stored)) throw new Error(`${storedKey} is not a list`);
  return (stored as readonly StoredAuthority[]).map((each) => {
    const { validFrom, validTo } = new X509Certificate(each.cert);
    return { ...each, validFromMs: Date.parse(validFrom), validToMs: Date.parse(validTo) };
  });
}

/** The Secret's data for these authorities. */
export function secretDataOf(authorities: Authorities): Readonly<Record<string, string>> {
  const stored = authorities.map(({ cert, key, trustedMs, retiredMs }) => ({
    cert,
    key,
    trustedMs,
    retiredMs,
  }));
  return { [storedKey]: base64(JSON.stringify(stored)), [bundleKey]: base64(bundleOf(authorities)) };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
