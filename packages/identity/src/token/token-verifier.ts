import type { JWTPayload } from "jose";
import { quoted, type Clock } from "@bunting/runtime";
import { IdentityError, type IdentityErrorCode } from "../identity-error.js";
import type { Identity } from "../identity.js";
import { unknownKey, type KeySet } from "./key-set.js";
import { loadJose, type Jose } from "./load-jose.js";
import { identityOfClaims } from "./service-account-claims.js";
import { algorithms, maxKidCharacters, type SigningKey } from "./signing-keys.js";

/** Tolerated difference between the clocks of the machines. */
const leewayMs = 10_000;

/** Signatures are verified on the threads that also read files: a storm of tokens waits here instead. */
const maxVerifying = 16;

export interface VerifiedToken {
  readonly identity: Identity;
  /** The key that has signed it. */
  readonly key: Pick<SigningKey, "kid" | "digest">;
}

export interface TokenVerifierOptions {
  readonly keys: Pick<KeySet, "find" | "issuers">;
  readonly audience: string;
  readonly clock: Clock;
  /** Replaced by tests. */
  readonly loadJose?: () => Promise<TokenJose>;
}

/** The parts of jose that verifying needs. */
type TokenJose = Pick<Jose, "decodeProtectedHeader" | "jwtVerify" | "errors">;

/**
 * Verifies the signature and the claims of a token, and rejects with an IdentityError that says what is wrong. What it costs depends on the length of
 * the token only, which the caller has limited.
 */
export type VerifyToken = (token: string) => Promise<VerifiedToken>;

export function tokenVerifier(options: TokenVerifierOptions): VerifyToken {
  const { keys, audience, clock } = options;
  const limited = limiter();
  return async (token) => {
    const jose = await (options.loadJose ?? loadJose)();
    const { kid, algorithm } = readHeader(jose, token);
    const { key, algorithm: ofKey, digest } = await keys.find(kid);
    // A key is for one algorithm: a token can't choose how it is verified.
    if (algorithm !== ofKey) throw wrongAlgorithm();
    try {
      const rules = {
        algorithms: [ofKey],
        issuer: [...keys.issuers],
        audience,
        requiredClaims: ["exp", "sub"],
        clockTolerance: leewayMs / 1_000,
        currentDate: new Date(clock.now()),
      };
      const { payload } = await limited(() => jose.jwtVerify(token, key, rules));
      const expiresAtMs = (payload.exp ?? 0) * 1_000 + leewayMs;
      return { identity: identityOfClaims(payload, expiresAtMs), key: { kid, digest } };
    } catch (error) {
      throw refusalOf(jose, error, audience);
    }
  };
}

/** Limits concurrent verifications. A Semaphore would cost more, because its waiters can be aborted. */
function limiter(): <T>(verify: () => Promise<T>) => Promise<T> {
  let verifying = 0;
  const waiting: (() => void)[] = [];
  return async (verify) => {
    if (verifying < maxVerifying) verifying++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await verify();
    } finally {
      const next = waiting.shift();
      // The slot passes to the next waiter.
      if (next === undefined) verifying--;
      else next();
    }
  };
}

function refusalOf({ errors }: TokenJose, error: unknown, audience: string): unknown {
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return new IdentityError("TOKEN_SIGNATURE", "the signature of the token is wrong");
  // From here on the signature was right.
  if (error instanceof errors.JWTExpired) {
    const message = "the token has expired; present a new one, and let the kubelet renew it";
    return new IdentityError("TOKEN_EXPIRED", message, { subject: subjectOf(error.payload) });
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const [code, message] = claimRefusal(error.claim, audience);
    return new IdentityError(code, message, { subject: subjectOf(error.payload) });
  }
  return error instanceof errors.JOSEError ? malformed(error) : error;
}

function claimRefusal(claim: string, audience: string): readonly [IdentityErrorCode, message: string] {
  switch (claim) {
    case "iss":
      return ["TOKEN_ISSUER", "the token was issued by another issuer than this cluster's"];
    case "aud":
      return [
        "TOKEN_AUDIENCE",
        `the token is not for the audience ${quoted(audience)}: project a ServiceAccount token with that audience`,
      ];
    case "nbf":
      return ["TOKEN_NOT_YET_VALID", "the token is not valid yet: compare the clocks"];
    default:
      return ["TOKEN_MALFORMED", `the token has no valid claim ${quoted(claim)}`];
  }
}

function readHeader(jose: TokenJose, token: string): { readonly kid: string; readonly algorithm: string } {
  let header: ReturnType<typeof jose.decodeProtectedHeader>;
  try {
    header = jose.decodeProtectedHeader(token);
  } catch (error) {
    throw malformed(error);
  }
  const { kid, alg: algorithm } = header;
  if (typeof algorithm !== "string" || !algorithms.has(algorithm)) throw wrongAlgorithm();
  if (typeof kid !== "string" || kid === "" || kid.length > maxKidCharacters) throw unknownKey();
  return { kid, algorithm };
}

/** The subject of a token with a valid signature, for the log; it need not be a ServiceAccount. */
function subjectOf({ sub }: JWTPayload): string | undefined {
  return typeof sub === "string" && /^[-\w.:@/]{1,300}$/.test(sub) ? sub : undefined;
}

function wrongAlgorithm(): IdentityError {
  return new IdentityError(
    "TOKEN_ALGORITHM",
    "the token is not signed with an algorithm of this cluster's keys",
  );
}

function malformed(cause: unknown): IdentityError {
  return new IdentityError("TOKEN_MALFORMED", "the token is not a signed JSON Web Token", { cause });
}
