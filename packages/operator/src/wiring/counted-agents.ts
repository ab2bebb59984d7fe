import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import { statusTokenSecret } from "../certificates/status-token-secret.js";
import type { ProxyAgents } from "../controllers/agents/proxy-agents.js";
import { proxySettings } from "../settings.js";
import type { FeatureFlagListeners } from "../controllers/feature-flag-watch.js";
import { version } from "../version.js";
import type { OperatorWiring } from "./operator-wiring.js";

export interface CountedAgents {
  /** The components that the leader runs, in the order of their start. */
  readonly leading: () => readonly Component[];
  /** To be called by the watch of FeatureFlags. */
  readonly listeners: FeatureFlagListeners;
  /** The proxies that are asked for their agents; undefined if agents are not counted. */
  readonly proxies: ProxyAgents | undefined;
}

/**
 * Counts the agents of FeatureFlags on the leader, by asking the proxies. Nothing is counted without `statusAgents`, or if somebody else deploys the proxy; nor is
 * anything rolled out then, and what is left of rollouts is taken back.
 */
export function countedAgents(
  wiring: OperatorWiring,
  { events }: { readonly events: EventRecorder },
): CountedAgents {
  const { options, parts, context, cluster, watches, served } = wiring;
  const { namespace } = options;
  const { client } = cluster;
  if (!options.statusAgents || options.proxy === "never") {
    const rollouts = new parts.FlagRollouts({ client, proxies: undefined, events, context });
    return {
      leading: () => [runnableComponent(rollouts, "ends rollouts, which nobody would have go on")],
      listeners: { onRollout: (key) => rollouts.changed(key) },
      proxies: undefined,
    };
  }
  const tokens = new parts.SecretWatch(statusTokenSecret, { watches, namespace, context });
  const keeper = parts.statusTokenKeeper({ client, namespace, context });
  tokens.onChange(() => keeper.look());
  const proxies = new parts.ProxyAgents({
    watches,
    settings: proxySettings(options, version),
    token: () => tokens.items[0],
    context,
  });
  const status = new parts.AgentStatus({ client, proxies, served, context });
  const rollouts = new parts.FlagRollouts({ client, proxies, events, context });
  return {
    leading: () => [
      runnableComponent(keeper, "makes the token without which no proxy tells anything"),
      runnableComponent(tokens, "hears of the token, also of one that others made"),
      runnableComponent(proxies, "finds the proxies that are asked"),
      runnableComponent(status, "asks them, and says what they tell"),
      runnableComponent(rollouts, "has new versions go on by what they tell"),
    ],
    listeners: {
      onCounted: (key) => status.counted(key),
      onRollout: (key) => rollouts.changed(key),
    },
    proxies,
  };
}
