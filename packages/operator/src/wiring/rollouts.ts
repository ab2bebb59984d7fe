import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import type { ProxyAgents } from "../controllers/agents/proxy-agents.js";
import type { ClusterSources } from "../controllers/injection/cluster-sources.js";
import { planSources } from "../sources/source-plan.js";
import type { OperatorWiring } from "./operator-wiring.js";
import { exemptNamespaces } from "../api/webhooks.js";

export interface RolloutsParts {
  readonly events: EventRecorder;
  readonly sources: ClusterSources;
  /** Undefined if nobody asks them. */
  readonly proxies: ProxyAgents | undefined;
}

/** Restarts of workloads whose FeatureFlagSource has changed, as the leader makes them; none unless the options ask for them. */
export function rollouts(
  { options, parts, context, cluster, watches }: OperatorWiring,
  { events, sources, proxies }: RolloutsParts,
): () => readonly Component[] {
  if (!options.rolloutOnChange) return () => [];
  const { client } = cluster;
  const restarts = (namespace: string, text: string): boolean => {
    const { catalogue, rules } = sources.inputs(namespace);
    const planned = planSources(text, catalogue, rules);
    return planned.kind === "planned" && planned.plan.spec.rolloutOnChange;
  };
  const controller = new parts.RolloutOnChange({
    ...{ client, watches, events, proxies, context },
    sources: { restarts, ready: sources.whenSynced, listen: (listener) => sources.listen(listener) },
  });
  return () => [runnableComponent(controller, "follows what was compiled, and asks proxies who follows it")];
}

/** Upgrades of running sidecars, as the leader makes them; none unless the options ask for them. */
export function agentRollouts(
  { options, parts, context, cluster, watches, instance }: OperatorWiring,
  { events, proxies }: { readonly events: EventRecorder; readonly proxies: ProxyAgents | undefined },
): () => readonly Component[] {
  if (!options.agentRollouts) return () => [];
  const { client } = cluster;
  const { namespace, imagePullSecrets: pullSecrets } = options;
  const controller = new parts.AgentRolloutController({
    ...{ client, watches, events, proxies, context },
    namespaces: {
      own: namespace,
      pullSecrets,
      place: (signal) => parts.ownPlace(client, { namespace, name: instance }, signal),
      exempt: new Set(exemptNamespaces(namespace)),
    },
  });
  return () => [runnableComponent(controller, "waits until it is known which proxies there are to ask")];
}
