import { IdentityError } from "../identity-error.js";
import { identityName, type Identity } from "../identity.js";

/** The claims that the API server writes into tokens of ServiceAccounts. */
interface KubernetesClaim {
  readonly namespace?: unknown;
  readonly serviceaccount?: { readonly name?: unknown; readonly uid?: unknown };
  readonly pod?: { readonly name?: unknown; readonly uid?: unknown };
}

/** As RFC 1123 has it: nothing else can be a namespace, a ServiceAccount or a Pod. */
const namePattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const uidPattern = /^[-A-Za-z0-9]{1,128}$/;

/**
 * The identity that the claims of a verified token name.
 *
 * @throws IdentityError TOKEN_SUBJECT if it is not the token of a ServiceAccount that the API server has issued
 */
export function identityOfClaims(claims: Readonly<Record<string, unknown>>, expiresAtMs: number): Identity {
  const { namespace, serviceaccount, pod } = (claims["kubernetes.io"] ?? {}) as KubernetesClaim;
  const serviceAccount = serviceaccount?.name;
  if (!isMatch(namePattern, namespace) || !isMatch(namePattern, serviceAccount)) throw wrongSubject();
  const uid = optional(uidPattern, serviceaccount?.uid);
  const podName = optional(namePattern, pod?.name);
  const podUid = optional(uidPattern, pod?.uid);
  const identity: Identity = {
    kind: "token",
    namespace,
    serviceAccount,
    expiresAtMs,
    ...(uid === undefined ? {} : { uid }),
    ...(podName === undefined ? {} : { pod: podName }),
    ...(podUid === undefined ? {} : { podUid }),
  };
  if (claims["sub"] !== identityName(identity)) throw wrongSubject();
  return identity;
}

function isMatch(pattern: RegExp, value: unknown): value is string {
  return typeof value === "string" && pattern.test(value);
}

function optional(pattern: RegExp, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (!isMatch(pattern, value)) throw wrongSubject();
  return value;
}

function wrongSubject(): IdentityError {
  return new IdentityError(
    "TOKEN_SUBJECT",
    "the token is not one that an API server has issued to a ServiceAccount: mount a projected ServiceAccount token",
  );
}
