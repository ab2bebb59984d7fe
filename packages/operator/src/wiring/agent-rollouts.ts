import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import { exemptNamespaces } from "../api/webhooks.js";
import type { OperatorWiring } from "./operator-parts.js";

/** Upgrades of running sidecars, as the leader makes them; none unless the options ask for them. */
export function agentRollouts(
  { options, parts, context, cluster, watches }: OperatorWiring,
  { events }: { readonly events: EventRecorder },
): () => readonly Component[] {
  if (!options.agentRollouts) return () => [];
  const { client } = cluster;
  const exempt = new Set(exemptNamespaces(options.namespace));
  const controller = new parts.AgentRolloutController({ client, watches, events, exempt, context });
  return () => [runnableComponent(controller, "depends on nothing else: it looks at Pods as they are")];
}
