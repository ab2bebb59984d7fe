import { createHash } from "node:crypto";
import type { CryptoKey, JWK } from "jose";
import { loadJose } from "./load-jose.js";

/** A public key with which tokens are verified, and the one algorithm it is for. */
export interface SigningKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly key: CryptoKey;
  /** Digest of the algorithm and the public part: it differs if another key is published under the same id. */
  readonly digest: string;
}

/** Asymmetric ones only: what verifies a token must not be able to sign one. */
export const algorithms: ReadonlySet<string> = new Set([
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
]);

const algorithmOfCurve: Readonly<Record<string, string>> = {
  "P-256": "ES256",
  "P-384": "ES384",
  "P-521": "ES512",
  Ed25519: "EdDSA",
};
/** More than any issuer publishes. */
const maxKeys = 100;
export const maxKidCharacters = 256;
/** 2,048 bits in base64url. */
const minModulusCharacters = 342;

/**
 * The usable keys of a JSON Web Key Set (RFC 7517). Those of other kinds, and those too weak, are left out; the algorithm of a key that names
 * none is the usual one of its kind.
 *
 * @throws Error if it is not a key set, or has no usable key
 */
export async function readSigningKeys(document: unknown): Promise<readonly SigningKey[]> {
  const { keys } = (document ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error(`there is no "keys" in it`);
  const { importJWK } = await loadJose();
  const found: SigningKey[] = [];
  for (const jwk of keys.slice(0, maxKeys) as unknown[]) {
    const usable = usableKey(jwk);
    if (usable === undefined) continue;
    const { kid, algorithm, publicPart } = usable;
    const key = await importJWK(publicPart, algorithm).catch(() => undefined);
    if (key !== undefined && !(key instanceof Uint8Array))
      found.push({ kid, algorithm, key, digest: digestOf(algorithm, publicPart) });
  }
  if (found.length === 0) throw new Error("there is no usable key in it");
  return found;
}

function digestOf(algorithm: string, publicPart: JWK): string {
  return createHash("sha256")
    .update(JSON.stringify([algorithm, publicPart]))
    .digest("base64");
}

function usableKey(
  jwk: unknown,
): { readonly kid: string; readonly algorithm: string; readonly publicPart: JWK } | undefined {
  if (typeof jwk !== "object" || jwk === null) return undefined;
  const { kty, kid, use, alg, crv, n, e, x, y } = jwk as JWK;
  if (typeof kid !== "string" || kid === "" || kid.length > maxKidCharacters) return undefined;
  if (use !== undefined && use !== "sig") return undefined;
  if (kty === "RSA" && typeof n === "string" && typeof e === "string" && n.length >= minModulusCharacters)
    return checked(kid, alg ?? "RS256", { kty, n, e });
  const ofCurve = algorithmOfCurve[crv ?? ""];
  if (ofCurve === undefined || crv === undefined || typeof x !== "string") return undefined;
  if (kty === "EC" && typeof y === "string") return checked(kid, alg ?? ofCurve, { kty, crv, x, y });
  if (kty === "OKP") return checked(kid, alg ?? ofCurve, { kty, crv, x });
  return undefined;
}

function checked(kid: string, algorithm: string, publicPart: JWK): ReturnType<typeof usableKey> {
  return algorithms.has(algorithm) ? { kid, algorithm, publicPart } : undefined;
}
