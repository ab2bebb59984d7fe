import { createHmac } from "node:crypto";

/** The paths of the webhooks: those of the open-feature-operator where it has them. A secret follows each of them. */
export const webhookPaths = Object.freeze({
  pod: "/mutate-v1-pod",
  /** For Pods that must not start without what they ask for. */
  requiredPod: "/mutate-v1-pod/required",
  /** For workloads with flags of their own. */
  workload: "/mutate-workload",
  featureFlag: "/validate-core-openfeature-dev-v1beta1-featureflag",
  featureFlagSource: "/validate-core-openfeature-dev-v1beta1-featureflagsource",
});

/** The path that answers each webhook of the configurations. */
export const pathOfWebhook: ReadonlyMap<string, string> = new Map([
  ["mutate.openfeature.dev", webhookPaths.pod],
  ["required-pod.bunting.dev", webhookPaths.requiredPod],
  ["required-namespace.bunting.dev", webhookPaths.requiredPod],
  ["inline-flags.bunting.dev", webhookPaths.workload],
  ["vfeatureflag.kb.io", webhookPaths.featureFlag],
  ["vfeatureflagsource.kb.io", webhookPaths.featureFlagSource],
]);

/** The key of paths that nothing follows. They are answered only as long as another operator answers them as well, whose Pods know no other. */
export const plainKey = "";

/**
 * A path as those call it who know the key: 64 hexadecimal digits follow, because a segment of a path must be what could be a name in DNS. They differ from path to path, because an API server quotes the URL of a webhook that
 * must not fail to whoever creates a Pod while no replica answers.
 */
export function secretPath(path: string, key: string): string {
  if (key === plainKey) return path;
  return `${path}/${createHmac("sha256", key).update(path).digest("hex")}`;
}

/** Namespaces of whose Pods the webhooks see none: the operator must be able to start without itself, and the cluster without it. */
export function exemptNamespaces(own: string): readonly string[] {
  return ["kube-system", own];
}

/** What the configurations are called by which API servers know the webhooks. */
export interface WebhookConfigurationNames {
  readonly mutating: string;
  readonly validating: string;
}

/** As those of the open-feature-operator. */
export const webhookConfigurationNames: WebhookConfigurationNames = Object.freeze({
  mutating: "open-feature-operator-mutating-webhook-configuration",
  validating: "open-feature-operator-validating-webhook-configuration",
});

/**
 * Names of the configurations of an operator that serves only some namespaces: a cluster may have several such operators, each with its own.
 *
 * @param own the operator's namespace
 */
export function ownWebhookConfigurationNames(own: string): WebhookConfigurationNames {
  const name = `bunting-operator-${own}`;
  return { mutating: name, validating: name };
}

const admissionApi = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  isClusterScoped: true,
} as const;

export const mutatingWebhookType = { ...admissionApi, plural: "mutatingwebhookconfigurations" } as const;
export const validatingWebhookType = { ...admissionApi, plural: "validatingwebhookconfigurations" } as const;
