import type { KubeObject } from "@bunting/kube";
import type { ClusterAnswer, ClusterReader } from "../cluster-reader.js";
import { clusterTypes, objectNames } from "../operator-names.js";

/** A namespaceSelector, as far as operators of some namespaces write it. */
interface NamespaceSelector {
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** The configuration of the webhook to which Pods of the namespace are shown. */
export async function readWebhook(
  namespace: string,
  reader: ClusterReader,
): Promise<ClusterAnswer<KubeObject>> {
  const type = clusterTypes.mutatingWebhook;
  const ofAll = await reader.find({ type, name: objectNames.mutatingWebhook });
  if (ofAll.kind !== "missing") return ofAll;
  const all = await reader.findAll({ type });
  if (all.kind !== "found") return all;
  const found = all.found.find((each) => {
    const { webhooks = [] } = each as {
      readonly webhooks?: readonly { readonly namespaceSelector?: NamespaceSelector }[];
    };
    const isOurs = each.metadata.name.startsWith(objectNames.ownWebhooks);
    return isOurs && webhooks.some((one) => selects(namespace, one.namespaceSelector));
  });
  return found === undefined ? { kind: "missing" } : { kind: "found", found };
}

/** The names of policies that inject Pods of the namespace. Newer API servers have a newer version of policies, and some have none. */
export async function readPolicies(
  namespace: string,
  reader: ClusterReader,
): Promise<ClusterAnswer<readonly string[]>> {
  for (const type of clusterTypes.mutatingPolicies) {
    const answer = await reader.findAll({ type });
    if (answer.kind === "unreadable") return answer;
    if (answer.kind === "missing") continue;
    const names = answer.found
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.startsWith(objectNames.policy));
    const bindings = await reader.findAll({ type: { ...type, plural: "mutatingadmissionpolicybindings" } });
    if (bindings.kind !== "found") return { kind: "found", found: names };
    const isElsewhere = (name: string): boolean => {
      const specs = bindings.found.map(({ spec }) => (spec ?? {}) as BindingSpec);
      const own = specs.filter(({ policyName }) => policyName === name);
      const selected = own.filter((spec) => selects(namespace, spec.matchResources?.namespaceSelector));
      return own.length > 0 && selected.length === 0;
    };
    return { kind: "found", found: names.filter((name) => !isElsewhere(name)) };
  }
  return { kind: "missing" };
}

interface BindingSpec {
  readonly policyName?: string;
  readonly matchResources?: { readonly namespaceSelector?: NamespaceSelector };
}

/** Whether the selector lets a namespace of this name through; what it wants of other labels is not looked at. */
function selects(namespace: string, { matchExpressions = [] }: NamespaceSelector = {}): boolean {
  return matchExpressions.every(({ key, operator, values = [] }) => {
    if (key !== "kubernetes.io/metadata.name") return true;
    return operator === "In" ? values.includes(namespace) : !values.includes(namespace);
  });
}
