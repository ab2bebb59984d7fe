import { leaseName, otherLeaseName } from "./api/leases.js";
import { authoritySecret, proxyAuthoritySecret } from "./certificates/authority-secret.js";
import { proxyLeafSecret } from "./certificates/proxy-leaf-keeper.js";
import { statusTokenSecret } from "./certificates/status-token-secret.js";
import { webhookKeySecret } from "./certificates/webhook-key-secret.js";
import { securityConfigMapName } from "./controllers/security/stored-security.js";
import {
  andLikewise,
  ofAgentRollouts,
  onlyWithElection,
  withAgents,
  withOwnAuthority,
  withProxySecurity,
  type Permission,
} from "./permission.js";

/** What it may do in all namespaces otherwise, its own among them. */
const ofServedElsewhere: readonly Permission[] = [
  {
    scope: "namespace",
    serving: "named",
    apiGroup: "",
    resources: ["configmaps"],
    names: [securityConfigMapName],
    verbs: ["get", "list", "watch", "patch"],
    why: "keeps how far the security of the proxy is",
  },
  {
    scope: "namespace",
    serving: "named",
    apiGroup: "",
    resources: ["configmaps"],
    verbs: ["create"],
    why: "makes that ConfigMap: a name can't be required of what is created",
  },
  {
    scope: "namespace",
    serving: "named",
    apiGroup: "",
    resources: ["pods"],
    verbs: ["watch"],
    onlyIf: withAgents,
    why: "hears of proxies that come and go, which it asks for their agents",
  },
  {
    scope: "namespace",
    serving: "named",
    apiGroup: "events.k8s.io",
    resources: ["events"],
    verbs: ["create", "patch"],
    why: "tells people what it did to the proxy, and what it waits for",
  },
];

/** What the operator may do in its own namespace. */
export const ownNamespacePermissions: readonly Permission[] = Object.freeze([
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
  ...ofServedElsewhere,
  {
    ...ofAgentRollouts,
    scope: "namespace",
    apiGroup: "",
    resources: ["pods"],
    verbs: ["create", "delete"],
    why: "has nodes pull an image before sidecars there get it; a ValidatingAdmissionPolicy lets it create no other Pods",
  },
  ...andLikewise(
    {
      scope: "namespace",
      apiGroup: "apps",
      resources: ["deployments"],
      verbs: ["get", "list", "watch", "create", "patch", "delete"],
      why: "deploys the proxy, puts back what others change of it, and removes it",
    },
    "/services",
    "policy/poddisruptionbudgets",
    "networking.k8s.io/networkpolicies",
  ),
  {
    ...keptSecret(authoritySecret),
    onlyIf: withOwnAuthority,
    why: "keeps the authority of the webhooks, with its key",
  },
  { ...keptSecret(webhookKeySecret), why: "keeps the key of the webhooks' paths" },
  {
    ...keptSecret(statusTokenSecret),
    onlyIf: withAgents,
    why: "keeps the token by which it reads of the proxy how many agents there are",
  },
  {
    ...keptSecret(proxyAuthoritySecret),
    onlyIf: withProxySecurity,
    why: "keeps the authority of the proxy, with its key",
  },
  {
    ...keptSecret(proxyLeafSecret),
    verbs: ["get", "update"],
    onlyIf: withProxySecurity,
    why: "keeps the certificate of the proxy, with its key",
  },
  {
    scope: "namespace",
    apiGroup: "",
    resources: ["secrets"],
    verbs: ["create"],
    why: "makes these Secrets: a name can't be required of what is created",
  },
]);

function keptSecret({ name }: { readonly name: string }): Omit<Permission, "why"> {
  const verbs = ["get", "list", "watch", "update"];
  return { scope: "namespace", apiGroup: "", resources: ["secrets"], names: [name], verbs };
}
