import { objectNames } from "../../operator/operator-names.js";
import type { CheckFinding } from "../finding-codes.js";
import { placeOfGroup, type PodGroup } from "../pod-survey.js";

/** Whom a proxy serves: clients in plaintext, TLS with tokens beside them, or nothing but TLS with tokens. */
export type ServedAccess = "plain" | "both" | "secured";

/** Whom the operator has its proxy serve, by the state that it has stored. */
export const servedInState: ReadonlyMap<string, ServedAccess> = new Map([
  ["off", "plain"],
  ["opening", "both"],
  ["mixed", "both"],
  ["closing", "secured"],
  ["on", "secured"],
  ["reopening", "both"],
  ["leaving", "both"],
  ["ending", "plain"],
]);

export interface SecurityFacts {
  /** Of the operator and its proxy. */
  readonly namespace: string;
  /** The operator's option. */
  readonly target: string;
  /** What the operator has stored; undefined if it has secured nothing so far. */
  readonly stored: { readonly state: string; readonly waitsFor: string } | undefined;
  /** Whom the Deployment of the proxy serves; undefined if there is none. */
  readonly served: ServedAccess | "otherwise" | undefined;
}

const words: Readonly<Record<ServedAccess | "otherwise", string>> = {
  plain: "plaintext",
  both: "TLS with tokens and plaintext",
  secured: "TLS with tokens alone",
  otherwise: "by options that are not the operator's",
};

export function judgeSecurity(facts: SecurityFacts | undefined): readonly CheckFinding[] {
  if (facts === undefined || (facts.target === "off" && facts.stored === undefined)) return [];
  const { namespace, target, stored, served } = facts;
  const { state, waitsFor } = stored ?? { state: "off", waitsFor: "" };
  const wanted = servedInState.get(state);
  const differs: CheckFinding = {
    code: "proxy-security",
    where: `Deployment ${namespace}/${objectNames.proxy}`,
    what: `the proxy serves ${words[served ?? "plain"]}, and in the state ${state} it has to serve ${words[wanted ?? "otherwise"]}`,
    todo: `see what the operator logs, and who else writes the Deployment: a rollout takes a while (kubectl -n ${namespace} rollout status deployment/${objectNames.proxy})`,
  };
  const why = waitsFor === "" ? "it says of nothing that it waits for it" : `it waits for ${waitsFor}`;
  const waits: CheckFinding = {
    code: "security-waits",
    where: `ConfigMap ${namespace}/${objectNames.proxySecurity}`,
    what: `the operator is to have it ${target}, and the state is ${state}: ${why}`,
    todo: "read what each state goes on with in docs/security/operator.md",
  };
  return [
    ...(served !== undefined && served !== wanted ? [differs] : []),
    ...(state !== target ? [waits] : []),
  ];
}

/** A certificate that the operator keeps. */
export interface CertificateFacts {
  readonly where: string;
  /** In ms since 1970. */
  readonly endsMs: number;
}

const dayMs = 86_400_000;
/** The operator renews the proxy's certificate a month before its end, and the authority four months before. */
const lateMs = 14 * dayMs;

export function judgeCertificates(
  certificates: readonly CertificateFacts[],
  nowMs: number,
): readonly CheckFinding[] {
  return certificates
    .filter(({ endsMs }) => endsMs < nowMs + lateMs)
    .map(({ where, endsMs }) => ({
      code: endsMs < nowMs ? "certificate-ended" : "certificate-ends",
      where,
      what: `the certificate ${endsMs < nowMs ? "has ended" : "ends"} on ${new Date(endsMs).toISOString().slice(0, 10)}, and was to be renewed long before`,
      todo: "see whether the operator leads, and what it logs: it renews certificates by itself",
    }));
}

/** Pods that ask the proxy, by the way in which they do. */
export interface SecuredPodsFacts {
  /** As in SecurityFacts. */
  readonly state: string;
  /** They have no token, or speak plaintext. */
  readonly plain: readonly PodGroup[];
  /** They speak TLS. */
  readonly secured: readonly PodGroup[];
  /** Namespaces of these in which there is nothing to verify the proxy by. */
  readonly unverified: readonly string[];
}

export function judgeSecuredPods({
  state,
  plain,
  secured,
  unverified,
}: SecuredPodsFacts): readonly CheckFinding[] {
  const served = servedInState.get(state);
  const refused = (groups: readonly PodGroup[], what: string): readonly CheckFinding[] =>
    groups.map((group) => ({ code: "pod-refused", where: placeOfGroup(group), what, todo: again(group) }));
  const toPlain = "it asks the proxy in plaintext or without a token, and the proxy serves nobody without";
  const toSecured = "it speaks TLS with the proxy, and the proxy serves plaintext alone";
  return [
    ...(served === "secured" ? refused(plain, toPlain) : []),
    ...(served === "plain" ? refused(secured, toSecured) : []),
    ...unverified.map((namespace): CheckFinding => ({
      code: "authority-missing",
      where: `ConfigMap ${namespace}/${objectNames.proxyAuthority}`,
      what: "sidecars verify the proxy by it, and there is no certificate in it",
      todo: "see what the operator logs: it makes the ConfigMap, unless a quota or a finalizer is in the way",
    })),
  ];
}

function again({ namespace }: PodGroup): string {
  return `have it created again (kubectl -n ${namespace} rollout restart); one that has no sidecar of ours to be secured needs proxy-security: mixed`;
}
