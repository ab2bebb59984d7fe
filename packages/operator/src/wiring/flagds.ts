import { Discovery, type EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import type { FlagdSources } from "../controllers/flagd/flagd-controller.js";
import { flagdSettings } from "../settings.js";
import { version } from "../version.js";
import type { OperatorWiring } from "./operator-parts.js";

/** The agents that stand by themselves, as the leader deploys them; nothing unless the options ask for them. */
export function flagds(
  wiring: OperatorWiring,
  { events, sources }: { readonly events: EventRecorder; readonly sources: FlagdSources },
): () => readonly Component[] {
  const { options, parts, context, cluster, watches } = wiring;
  if (!options.flagd) return () => [];
  const { client } = cluster;
  const applier = new parts.Applier({ client, drift: options.drift, metrics: context.metrics });
  const discovery = new Discovery({ client, clock: context.clock });
  const controller = new parts.FlagdController({
    settings: flagdSettings(options, version),
    sources,
    watches,
    cluster: { client, applier, events, discovery },
    context,
  });
  return () => [runnableComponent(controller, "deploys Flagds of the sources that are known by then")];
}
