import { configurationPrefix, type ExtensionNamespace } from "@bunting/extension";
import type { KubeObject } from "@bunting/kube";

/** Of the annotations of a namespace, in characters: whoever owns one may write 256 KB. */
const maxCharacters = 16 * 1024;
/** What kubectl keeps for itself: everything that was applied, once more. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** Of a namespace: the labels and annotations that extensions are told. Of many annotations, those alone that are for extensions. */
export function labelsOf({ metadata }: KubeObject): Pick<ExtensionNamespace, "labels" | "annotations"> {
  const { labels = {}, annotations = {} } = metadata;
  const all = Object.entries(annotations).filter(([annotation]) => annotation !== lastApplied);
  const ours = all.filter(([annotation]) => annotation.startsWith(configurationPrefix));
  const kept = [all, ours].find((entries) => charactersOf(entries) <= maxCharacters) ?? [];
  return { labels, annotations: Object.fromEntries(kept) };
}

/** A namespace as extensions are told of it. */
export function namespaceOf(
  name: string,
  told: Pick<ExtensionNamespace, "labels" | "annotations"> = { labels: {}, annotations: {} },
): ExtensionNamespace {
  return { name, ...told };
}

function charactersOf(entries: readonly (readonly [string, string])[]): number {
  return entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}
