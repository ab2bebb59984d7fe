import { leaseName, otherLeaseName } from "./api/leases.js";
import { webhookConfigurationNames } from "./api/webhooks.js";
import { authoritySecret } from "./certificates/authority-secret.js";
import { statusTokenSecret } from "./certificates/status-token-secret.js";
import { webhookKeySecret } from "./certificates/webhook-key-secret.js";

/** Something that the operator may do. The chart's roles and docs/reference/operator-permissions.md are made of these. */
export interface Permission {
  /** Where it is granted: in the whole cluster, or in the operator's namespace alone. */
  readonly scope: "cluster" | "namespace";
  /** Empty for the core group. */
  readonly apiGroup: string;
  readonly resources: readonly string[];
  /** Only objects of these names; `{option}` stands for the value of an option. */
  readonly names?: readonly string[];
  readonly verbs: readonly string[];
  /** The option that needs it, and the values with which it does; absent: it is always granted. */
  readonly onlyIf?: { readonly option: string; readonly is: readonly string[] };
  /** The task that needs the permission. */
  readonly why: string;
}

const onlyWithElection = { option: "leader-elect", is: ["true"] } as const;
const withChecks = { option: "flags-validation", is: ["true"] } as const;
const withAgents = { option: "status-agents", is: ["true"] } as const;
const withDirectWatches = { option: "provider-kubernetes", is: ["direct"] } as const;
const withFlagds = { option: "flagd", is: ["true"] } as const;
const ofAgentRollouts = { scope: "cluster", onlyIf: { option: "agent-rollouts", is: ["true"] } } as const;
const withOwnAuthority = { option: "certificates", is: ["own"] } as const;

/** All that the operator may do. A test compares this with what an API server saw it do: neither may be more. */
export const permissions: readonly Permission[] = Object.freeze([
  {
    scope: "cluster",
    apiGroup: "core.openfeature.dev",
    resources: ["featureflagsources", "inprocessconfigurations"],
    verbs: ["list", "watch"],
    why: "compiles what Pods get of them",
  },
  {
    scope: "cluster",
    apiGroup: "core.openfeature.dev",
    resources: ["featureflagsources/status", "inprocessconfigurations/status"],
    verbs: ["patch"],
    why: "says in their status what became of them",
  },
  {
    scope: "cluster",
    apiGroup: "core.openfeature.dev",
    resources: ["featureflags"],
    verbs: ["list", "watch"],
    why: "reads with whom they are shared",
  },
  {
    scope: "cluster",
    apiGroup: "core.openfeature.dev",
    resources: ["featureflags"],
    verbs: ["get"],
    why: "checks those that were stored while no replica could be asked, and makes files of them",
  },
  {
    scope: "cluster",
    apiGroup: "core.openfeature.dev",
    resources: ["featureflags/status"],
    verbs: ["patch"],
    onlyIf: withChecks,
    why: "says in their status what is wrong with them",
  },
  {
    scope: "cluster",
    apiGroup: "core.openfeature.dev",
    resources: ["featureflags/status"],
    verbs: ["patch"],
    onlyIf: withAgents,
    why: "says in their status how many agents have them",
  },
  {
    scope: "cluster",
    apiGroup: "",
    resources: ["namespaces"],
    verbs: ["list", "watch"],
    why: "reads the annotations that decide about Pods and FeatureFlags of a namespace, and which namespaces there are",
  },
  {
    scope: "cluster",
    apiGroup: "bunting.dev",
    resources: ["injections"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    why: "stores what it has compiled, one object a namespace",
  },
  {
    scope: "cluster",
    apiGroup: "",
    resources: ["pods"],
    verbs: ["get", "list", "watch"],
    why: "finds Pods that ask for flags and have none; nothing but metadata is read of all others",
  },
  {
    scope: "cluster",
    apiGroup: "",
    resources: ["pods/eviction"],
    verbs: ["create"],
    onlyIf: { option: "missed-pods", is: ["evict"] },
    why: "has such Pods replaced",
  },
  {
    ...ofAgentRollouts,
    apiGroup: "bunting.dev",
    resources: ["agentrollouts"],
    verbs: ["list", "watch"],
    why: "reads which running sidecars get another image",
  },
  {
    ...ofAgentRollouts,
    apiGroup: "bunting.dev",
    resources: ["agentrollouts/status"],
    verbs: ["patch"],
    why: "says in their status how far they are",
  },
  {
    ...ofAgentRollouts,
    apiGroup: "",
    resources: ["pods"],
    verbs: ["patch"],
    why: "gives running sidecars another image; a ValidatingAdmissionPolicy refuses it all other changes",
  },
  {
    ...ofAgentRollouts,
    apiGroup: "policy",
    resources: ["poddisruptionbudgets"],
    verbs: ["list", "watch"],
    why: "takes no more Pods at a time than these allow",
  },
  {
    scope: "cluster",
    apiGroup: "",
    resources: ["configmaps"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    why: "makes files of FeatureFlags for sources of the provider file, and keeps them current",
  },
  {
    scope: "cluster",
    apiGroup: "rbac.authorization.k8s.io",
    resources: ["rolebindings"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    onlyIf: withDirectWatches,
    why: "lets sidecars read the FeatureFlags that they watch",
  },
  {
    scope: "cluster",
    apiGroup: "rbac.authorization.k8s.io",
    resources: ["clusterroles"],
    names: ["{flag-reader-role}"],
    verbs: ["bind"],
    onlyIf: withDirectWatches,
    why: "may bind that role in these, and no other",
  },
  {
    scope: "cluster",
    apiGroup: "apps",
    resources: ["deployments", "statefulsets", "daemonsets"],
    verbs: ["list", "patch"],
    onlyIf: { option: "rollout-on-change", is: ["true"] },
    why: "restarts workloads whose FeatureFlagSource says so",
  },
  {
    scope: "cluster",
    apiGroup: "core.openfeature.dev",
    resources: ["flagds"],
    verbs: ["get", "list", "watch"],
    why: "deploys Flagds, or finds those that wait for an operator that does",
  },
  {
    scope: "cluster",
    apiGroup: "core.openfeature.dev",
    resources: ["flagds/status"],
    verbs: ["patch"],
    why: "says in their status what became of them",
  },
  {
    scope: "cluster",
    apiGroup: "apps",
    resources: ["deployments"],
    verbs: ["get", "list", "watch", "create", "patch"],
    onlyIf: withFlagds,
    why: "makes what Flagds ask for",
  },
  {
    scope: "cluster",
    apiGroup: "",
    resources: ["services"],
    verbs: ["get", "list", "watch", "create", "patch"],
    onlyIf: withFlagds,
    why: "likewise",
  },
  {
    scope: "cluster",
    apiGroup: "autoscaling",
    resources: ["horizontalpodautoscalers"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    onlyIf: withFlagds,
    why: "likewise",
  },
  {
    scope: "cluster",
    apiGroup: "networking.k8s.io",
    resources: ["ingresses"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    onlyIf: withFlagds,
    why: "likewise",
  },
  {
    scope: "cluster",
    apiGroup: "gateway.networking.k8s.io",
    resources: ["httproutes"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    onlyIf: withFlagds,
    why: "likewise",
  },
  {
    scope: "cluster",
    apiGroup: "admissionregistration.k8s.io",
    resources: ["mutatingwebhookconfigurations"],
    names: [webhookConfigurationNames.mutating],
    verbs: ["list", "watch", "patch"],
    why: "tells API servers the paths of the webhooks, and the authority by which to verify them",
  },
  {
    scope: "cluster",
    apiGroup: "admissionregistration.k8s.io",
    resources: ["validatingwebhookconfigurations"],
    names: [webhookConfigurationNames.validating],
    verbs: ["list", "watch", "patch"],
    why: "likewise",
  },
  {
    scope: "cluster",
    apiGroup: "events.k8s.io",
    resources: ["events"],
    verbs: ["create", "patch"],
    why: "tells people what was done, and what could not be done",
  },
  {
    scope: "namespace",
    apiGroup: "coordination.k8s.io",
    resources: ["leases"],
    names: [leaseName],
    verbs: ["get", "update"],
    onlyIf: onlyWithElection,
    why: "elects the replica that leads",
  },
  {
    scope: "namespace",
    apiGroup: "coordination.k8s.io",
    resources: ["leases"],
    verbs: ["create"],
    onlyIf: onlyWithElection,
    why: "makes the Lease of that election: a name can't be required of what is created",
  },
  {
    scope: "namespace",
    apiGroup: "coordination.k8s.io",
    resources: ["leases"],
    names: [otherLeaseName],
    verbs: ["get"],
    onlyIf: { option: "takeover", is: ["false"] },
    why: "sees whether the open-feature-operator runs",
  },
  {
    scope: "namespace",
    apiGroup: "",
    resources: ["pods"],
    verbs: ["get", "list"],
    why: "finds its own Deployment by its Pod, and the proxies, which it asks how many subscribers they have before it removes them; sees when the Pod of an earlier leader, or of the open-feature-operator, has ended",
  },
  {
    scope: "namespace",
    apiGroup: "apps",
    resources: ["deployments"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    why: "deploys the proxy, puts back what others change of it, and removes it",
  },
  {
    scope: "namespace",
    apiGroup: "",
    resources: ["services"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    why: "likewise",
  },
  {
    scope: "namespace",
    apiGroup: "policy",
    resources: ["poddisruptionbudgets"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    why: "likewise",
  },
  {
    scope: "namespace",
    apiGroup: "networking.k8s.io",
    resources: ["networkpolicies"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
    why: "likewise",
  },
  {
    scope: "namespace",
    apiGroup: "",
    resources: ["secrets"],
    names: [authoritySecret.name],
    verbs: ["get", "list", "watch", "update"],
    onlyIf: withOwnAuthority,
    why: "keeps the authority of the webhooks, with its key",
  },
  {
    scope: "namespace",
    apiGroup: "",
    resources: ["secrets"],
    names: [webhookKeySecret.name],
    verbs: ["get", "list", "watch", "update"],
    why: "keeps the key of the webhooks' paths",
  },
  {
    scope: "namespace",
    apiGroup: "",
    resources: ["secrets"],
    names: [statusTokenSecret.name],
    verbs: ["get", "list", "watch", "update"],
    onlyIf: withAgents,
    why: "keeps the token by which it reads of the proxy how many agents there are",
  },
  {
    scope: "namespace",
    apiGroup: "",
    resources: ["secrets"],
    verbs: ["create"],
    why: "makes these Secrets: a name can't be required of what is created",
  },
]);
