import { Discovery, type EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import type { FlagdSources } from "../controllers/flagd/flagd-controller.js";
import { flagdSettings } from "../settings.js";
import { version } from "../version.js";
import type { Extensions } from "./extensions.js";
import type { OperatorWiring } from "./operator-wiring.js";

/** The agents that stand by themselves, as the leader deploys them; without the option for them, it tells whoever asks for one. */
export function flagds(
  wiring: OperatorWiring,
  {
    events,
    sources,
    extensions,
  }: {
    readonly events: EventRecorder;
    readonly sources: FlagdSources;
    readonly extensions: Pick<Extensions, "applier" | "listen">;
  },
): () => readonly Component[] {
  const { options, parts, context, cluster, watches } = wiring;
  const { client } = cluster;
  const discovery = new Discovery({ client, clock: context.clock });
  if (!options.flagd) {
    const unserved = new parts.UnservedFlagds({ client, watches, discovery, events, context });
    return () => [runnableComponent(unserved, "tells who waits for a Flagd that none is deployed")];
  }
  const applier = new parts.Applier({ client, drift: options.drift, metrics: context.metrics });
  const controller = new parts.FlagdController({
    settings: flagdSettings(options, version),
    sources,
    watches,
    cluster: {
      ...{ client, applier, events, discovery },
      applierFor: (annotations) => extensions.applier(applier, { target: "Flagd", annotations }),
    },
    extensions,
    context,
  });
  return () => [runnableComponent(controller, "deploys Flagds of the sources that are known by then")];
}
