import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import { maxDocumentBytes } from "./admission.js";
import type { OperatorWiring } from "./operator-wiring.js";

/** FeatureFlags of flags that workloads have in their own manifest, as the leader makes them; none unless the options ask for them. */
export function inlineFlags(
  { options, parts, context, cluster, watches }: OperatorWiring,
  { events }: { readonly events: EventRecorder },
): () => readonly Component[] {
  if (!options.inlineFlags) return () => [];
  const { client } = cluster;
  const controller = new parts.InlineFlagsController({ client, watches, events, maxDocumentBytes, context });
  return () => [runnableComponent(controller, "depends on nothing else: it looks at workloads as they are")];
}
