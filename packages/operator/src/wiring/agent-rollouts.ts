import type { EventRecorder } from "@bunting/kube";
import type { ProxyAgents } from "../controllers/agents/proxy-agents.js";
import { runnableComponent, type Component } from "@bunting/runtime";
import { exemptNamespaces } from "../api/webhooks.js";
import type { OperatorWiring } from "./operator-parts.js";

/** Upgrades of running sidecars, as the leader makes them; none unless the options ask for them. */
export function agentRollouts(
  { options, parts, context, cluster, watches }: OperatorWiring,
  { events, proxies }: { readonly events: EventRecorder; readonly proxies: ProxyAgents | undefined },
): () => readonly Component[] {
  if (!options.agentRollouts) return () => [];
  const { client } = cluster;
  const { namespace, imagePullSecrets: pullSecrets } = options;
  const controller = new parts.AgentRolloutController({
    ...{ client, watches, events, proxies, context },
    namespaces: { own: namespace, pullSecrets, exempt: new Set(exemptNamespaces(namespace)) },
  });
  return () => [runnableComponent(controller, "waits until it is known which proxies there are to ask")];
}
