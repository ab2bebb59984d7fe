import { createHash } from "node:crypto";
import type { Clock } from "@bunting/runtime";
import type { Authenticator, Caller } from "../authenticator.js";
import { IdentityError } from "../identity-error.js";
import type { Identity } from "../identity.js";
import { unknownKey, type KeySet } from "./key-set.js";
import { tokenVerifier, type VerifiedToken, type VerifyToken } from "./token-verifier.js";

export interface TokenAuthenticatorOptions {
  readonly keys: Pick<KeySet, "find" | "has" | "issuers">;
  /** A token that is not meant for it is refused: a service that gets tokens of its clients could present them here. */
  readonly audience: string;
  readonly clock: Clock;
  readonly onVerified?: (result: "verified" | "cached" | "refused") => void;
  /** The most verified tokens that are cached. Default 20,000. */
  readonly maxCached?: number;
}

/** Limit of a token; tokens of ServiceAccounts have about 1 KB. */
const maxTokenCharacters = 8 * 1024;
/**
 * Three parts in base64url, of which none is empty. The bits beyond the last byte of a signature are zeros, as every issuer
 * writes them: nothing is signed there, so one token would have 16 forms, each of which counts as a token of its own.
 */
const compactForm = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-]{4}|[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])$/;

/** Callers are the ServiceAccount whose projected token they present. It is verified offline, once. */
export class TokenAuthenticator implements Authenticator {
  readonly #options: TokenAuthenticatorOptions;
  readonly #verifyToken: VerifyToken;
  /** Verified tokens by their digest, the oldest first. Tokens themselves are not kept. */
  readonly #cache = new Map<string, VerifiedToken>();
  readonly #underWay = new Map<string, Promise<Identity>>();
  /** The keys that have signed the tokens of identities. */
  readonly #keys = new WeakMap<Identity, VerifiedToken["key"]>();

  constructor(options: TokenAuthenticatorOptions) {
    this.#options = options;
    this.#verifyToken = tokenVerifier(options);
  }

  get size(): number {
    return this.#cache.size;
  }

  identify({ bearerToken: token }: Caller): Identity | undefined | Promise<Identity> {
    if (token === undefined) return undefined;
    if (token.length > maxTokenCharacters)
      throw this.#refused(new IdentityError("TOKEN_TOO_LARGE", "the token is longer than 8 KiB"));
    if (!compactForm.test(token))
      throw this.#refused(new IdentityError("TOKEN_MALFORMED", "the token is not a JSON Web Token"));
    const digest = createHash("sha256").update(token).digest("base64");
    const known = this.#cache.get(digest);
    if (known !== undefined && this.#isValid(known)) {
      this.#options.onVerified?.("cached");
      return known.identity;
    }
    this.#cache.delete(digest);
    const underWay =
      this.#underWay.get(digest) ?? this.#verify(token, digest).finally(() => this.#underWay.delete(digest));
    this.#underWay.set(digest, underWay);
    return underWay;
  }

  recheck(identity: Identity): IdentityError | undefined {
    const key = this.#keys.get(identity);
    return key === undefined || this.#options.keys.has(key.kid, key.digest) ? undefined : unknownKey();
  }

  async #verify(token: string, digest: string): Promise<Identity> {
    try {
      const verified = await this.#verifyToken(token);
      this.#keep(digest, verified);
      this.#keys.set(verified.identity, verified.key);
      this.#options.onVerified?.("verified");
      return verified.identity;
    } catch (error) {
      throw this.#refused(error);
    }
  }

  #keep(digest: string, verified: VerifiedToken): void {
    const { maxCached = 20_000 } = this.#options;
    this.#cache.set(digest, verified);
    const [oldest = ""] = this.#cache.keys();
    if (this.#cache.size > maxCached) this.#cache.delete(oldest);
  }

  #isValid({ identity: { expiresAtMs = 0 }, key }: VerifiedToken): boolean {
    return expiresAtMs > this.#options.clock.now() && this.#options.keys.has(key.kid, key.digest);
  }

  #refused(error: unknown): unknown {
    this.#options.onVerified?.("refused");
    return error;
  }
}
