/** Groups of checks, in the order in which they are shown. */
export const checkGroups = [
  "cluster",
  "definitions",
  "rights",
  "admission",
  "operator",
  "proxy",
  "security",
  "sources",
  "pods",
  "topics",
] as const;

export type CheckGroup = (typeof checkGroups)[number];

/** Effect of a finding on the result of its check. */
export type CheckSeverity =
  | "failed" // something does not work, or an installation would not.
  | "warning" // it works, but not as it should, or not for ever.
  | "unknown"; // the check could not be made.

interface CodeMeaning {
  readonly severity: CheckSeverity;
  /** Whole sentences, for the reference. */
  readonly meaning: string;
}

function failed(meaning: string): CodeMeaning {
  return { severity: "failed", meaning };
}

function warning(meaning: string): CodeMeaning {
  return { severity: "warning", meaning };
}

function unknown(meaning: string): CodeMeaning {
  return { severity: "unknown", meaning };
}

/** The closed set of codes of findings. docs/reference/checks.md is made of this table. */
export const findingCodes = {
  "not-checked": unknown(
    "The check could not be made, mostly because its user lacks a right. It has neither passed nor failed.",
  ),
  "api-unreachable": unknown("The API server does not answer, or does not accept the credentials."),
  "api-version": failed(
    "The API server is older than Kubernetes 1.29, from which on sidecars are init containers that restart always.",
  ),
  "definition-missing": failed(
    "A CustomResourceDefinition is not installed, or its version that we use is not served.",
  ),
  "definition-to-update": warning(
    "A CustomResourceDefinition lacks fields of ours. The installation updates it.",
  ),
  "definition-older": failed(
    "A CustomResourceDefinition lacks fields of ours. The API server drops them when an object is stored.",
  ),
  "definition-stock": warning(
    "A CustomResourceDefinition is the open-feature-operator's. Rules of ours are missing, and it goes with that operator's release.",
  ),
  "definition-stored": failed(
    "Objects may be stored in a version that our CustomResourceDefinition does not have, so the API server refuses ours.",
  ),
  "right-missing": failed("Somebody may not do what the installation, the operator or the proxy does."),
  "policies-not-served": warning(
    "The API server has no MutatingAdmissionPolicies (Kubernetes 1.36 and newer). Pods get their sidecar from the webhook alone.",
  ),
  "admission-missing": failed("Neither the policy nor the webhook is installed, so no Pod gets flags."),
  "policy-unbound": failed("The policy that injects has no binding, so the API server does not apply it."),
  "policy-left": failed(
    "The policy that injects is there, and our operator is not, but the open-feature-operator. Pods get sidecars by objects that nobody keeps.",
  ),
  "webhook-authority": failed(
    "The webhook has no authority by which the API server could verify the operator, or one by which what the operator serves does not hold. The leader of the operator writes it; for the open-feature-operator, cert-manager does.",
  ),
  "other-operator": warning("The open-feature-operator is installed. An installation has to take it over."),
  "two-operators": failed("Two operators run. They undo each other's writes."),
  "operator-missing": failed("No Deployment of the operator was found."),
  "operator-unready": failed("The operator has no ready replica."),
  "version-skew": warning("A proxy or sidecars have another minor version than the operator."),
  "proxy-missing": failed("FeatureFlagSources or Pods need a proxy, and none runs."),
  "proxy-absent": warning(
    "No proxy runs in the namespace, so none was checked. That is as it should be while nothing needs one.",
  ),
  "proxy-elsewhere": warning(
    "The proxies that were checked are not those of the operator, and sidecars of a FeatureFlagSource ask the operator's.",
  ),
  "proxy-image": warning("The open-feature-operator names another image for its proxy than the proxy has."),
  "proxy-unreachable": failed("The management port of a proxy can't be reached."),
  "proxy-unready": failed("A proxy says of itself that it is not ready."),
  "proxy-tls": failed("There is no TLS with the sync port of a proxy."),
  "proxy-token": failed("A proxy does not accept the token."),
  "proxy-refuses": failed("A proxy serves no flags on its sync port."),
  "proxy-security": failed(
    "The proxy of the operator does not serve as the security that the operator has stored wants it.",
  ),
  "security-waits": warning(
    "The security of the proxy is on its way to what the operator's option wants, and waits for something.",
  ),
  "certificate-ended": failed("The certificate of the proxy, or the authority that it is from, has ended."),
  "certificate-ends": warning(
    "The certificate of the proxy, or the authority that it is from, ends within two weeks. The operator renews both long before.",
  ),
  "pod-refused": failed(
    "A Pod asks the proxy in a way that the proxy does not serve, such as in plaintext where it serves TLS with tokens alone: it keeps the flags that it has.",
  ),
  "authority-missing": failed(
    "Sidecars of a namespace verify the proxy by the ConfigMap bunting-ca, and there is no certificate in it.",
  ),
  "flag-missing": failed("A FeatureFlagSource names a FeatureFlag that does not exist."),
  "provider-unknown": failed("A FeatureFlagSource names a provider that does not exist."),
  "field-unknown": warning("A FeatureFlagSource was written with a field that the API server has dropped."),
  "source-invalid": failed("A FeatureFlagSource has a setting that our definition or the webhook refuses."),
  "source-refused": failed("The operator says in the conditions of a FeatureFlagSource that it refuses it."),
  "source-unshared": warning(
    "Pods get what the owner of another namespace does not share with theirs, because the operator's option `--cross-namespace` is `legacy`.",
  ),
  "pod-not-injected": failed("A Pod asks for flags, and has no sidecar."),
  "sidecar-not-running": failed("The sidecar of a Pod does not run, or is not ready."),
  "sidecar-cut-off": failed(
    "A sidecar runs and is ready, and is no subscriber of a proxy: it answers from older flags, and edits do not reach it. Subscribers that are no sidecars can hide one.",
  ),
  "topic-refused": failed("The operator or agents refuse the flags of a FeatureFlag."),
  "rollout-stopped": warning(
    "The newest version of a FeatureFlag goes to no further agents: its rollout is paused, halted or given up.",
  ),
  "topic-stale": warning("A proxy can't tell whether what it serves of a FeatureFlag is the newest."),
  "subscriber-missing": warning(
    "More sidecars are to have a FeatureFlag from a proxy than the proxies have subscribers, and not all sidecars tell why. A rollout is a reason.",
  ),
  "subscriber-behind": warning("A subscriber waits for the newest version of its flags."),
  "subscriber-left": warning("A subscriber has gone without the newest version of its flags."),
} as const satisfies Readonly<Record<string, CodeMeaning>>;

export type FindingCode = keyof typeof findingCodes;

/** A fault that a check found: its place, a sentence about it, and the remedy. */
export interface CheckFinding {
  readonly code: FindingCode;
  /** The object that it is about: `FeatureFlagSource shop/checkout`. */
  readonly where: string;
  /** A sentence without a full stop. */
  readonly what: string;
  /** A sentence without a full stop, in the imperative. */
  readonly todo: string;
}

export function documentationOf(code: FindingCode): string {
  return `docs/reference/checks.md#${code}`;
}
