import { runnableComponent, type Component } from "@bunting/runtime";
import type { EntryLookup } from "../admission/entry-lookup.js";
import type { ProxyUse } from "../controllers/proxy/proxy-use.js";
import { sidecarSettings, sourceSettings } from "../settings.js";
import { version } from "../version.js";
import { entryLookup } from "./entry-lookup.js";
import type { OperatorWiring } from "./operator-parts.js";

export interface CompiledInjections {
  readonly lookup: EntryLookup;
  /** The annotation `bunting.dev/validation` of a namespace. */
  readonly levelOfNamespace: (namespace: string) => string | undefined;
  readonly hasSynced: () => boolean;
  /** What runs on every replica. */
  readonly everywhere: Component;
  /** What runs on the leader, in the order of the start. */
  readonly leading: () => readonly Component[];
}

/** FeatureFlagSources and InProcessConfigurations: what Pods get of them, and whether any of them uses the proxy. */
export function compiledInjections(wiring: OperatorWiring, use: ProxyUse): CompiledInjections {
  const { options, parts, context, cluster, watches } = wiring;
  const { client } = cluster;
  const sources = new parts.ClusterSources(watches, {
    rules: sourceSettings(options),
    sidecar: sidecarSettings(options, version),
  });
  const seen = new parts.SeenTexts();
  const status = new parts.SourceStatusController({ client, sources, context });
  const controller = new parts.InjectionController({
    client,
    watches,
    sources,
    seen,
    context,
    news: {
      compiled: (list, key, outcome) => status.compiled(list, key, outcome),
      usesProxy: (namespace, isUsing) => use.set(namespace, isUsing),
      complete: () => use.complete(),
    },
  });
  return {
    lookup: entryLookup(sources, seen),
    levelOfNamespace: (namespace) => sources.validationOf(namespace),
    hasSynced: () => sources.hasSynced,
    everywhere: runnableComponent(
      sources,
      "are read before the first Pod is admitted: webhooks answer from memory",
    ),
    leading: () => [
      runnableComponent(status, "says in their status what the controller finds of sources"),
      runnableComponent(
        controller,
        "compiles what the policy injects, and finds out whether the proxy is used",
      ),
    ],
  };
}
