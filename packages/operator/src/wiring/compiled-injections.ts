import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import type { EntryLookup } from "../admission/entry-lookup.js";
import type { ClusterSources } from "../controllers/injection/cluster-sources.js";
import type { CompileNews } from "../controllers/injection/injection-controller.js";
import type { SeenTexts } from "../controllers/injection/seen-texts.js";
import type { SourceUsage } from "../controllers/injection/source-usage.js";
import type { ProxyState } from "../controllers/proxy/proxy-state.js";
import type { ProxyUse } from "../controllers/proxy/proxy-use.js";
import { maxTexts } from "../desired/filled-injections.js";
import { maxTried } from "../desired/injection.js";
import { sidecarSettings, sourceSettings } from "../settings.js";
import { version } from "../version.js";
import type { Extensions } from "./extensions.js";
import type { OperatorWiring } from "./operator-wiring.js";
import type { ProxySecurity } from "./proxy-security.js";

export interface CompiledInjections {
  readonly sources: ClusterSources;
  readonly seen: SeenTexts;
  /** Counts Pods. */
  readonly usage: SourceUsage;
  readonly lookup: EntryLookup;
  /** What of all that the lookup needs has not been read yet. */
  readonly unread: () => readonly string[];
  /** The state of the proxy has changed. */
  readonly proxyEntered: (state: ProxyState) => void;
  /** What runs on every replica. */
  readonly everywhere: Component;
  /** What runs on the leader, in the order of the start. */
  readonly leading: () => readonly Component[];
}

export interface CompiledInjectionsParts {
  readonly use: ProxyUse;
  readonly security: ProxySecurity;
  readonly extensions: Extensions;
  readonly events: EventRecorder;
}

/** FeatureFlagSources and InProcessConfigurations: what Pods get of them, and what has to be there for that. */
export function compiledInjections(
  wiring: OperatorWiring,
  { use, security, extensions, events }: CompiledInjectionsParts,
): CompiledInjections {
  const { options, parts, context, cluster, watches, served } = wiring;
  const { client } = cluster;
  const settings = {
    rules: sourceSettings(options),
    sidecar: sidecarSettings(options, version),
    security: new parts.SecurityWatch({ watches, namespace: options.namespace, context }),
  };
  const sources = new parts.ClusterSources(watches, settings, extensions.namespaces);
  const seen = new parts.SeenTexts(options.extensions ? maxTried : maxTexts);
  const usage = new parts.SourceUsage();
  const status = new parts.SourceStatusController({ client, sources, usage, context });
  const role = { kind: served === undefined ? "ClusterRole" : "Role", name: options.flagReaderRole } as const;
  const flagReaderRole = options.providerKubernetes === "direct" ? role : undefined;
  const access = new parts.AccessController({ client, watches, sources, events, flagReaderRole, context });
  const proxyReady = new parts.ProxyReadyController({
    client,
    source: (key) => sources.object("sources", key),
    context,
  });
  const news: CompileNews = {
    compiled: (list, key, outcome) => {
      status.compiled(list, key, outcome);
      if (list === "sources") proxyReady.compiled(key, outcome.plan);
    },
    usesProxy: use.set.bind(use),
    needs: (namespace, needs) => {
      access.needs(namespace, needs);
      security.maps.asks(namespace, needs.asksProxy);
    },
    complete: () => {
      use.complete();
      security.maps.complete();
    },
  };
  const controller = new parts.InjectionController({
    ...{ sources, seen, context, news },
    cluster: { client, watches },
    extensions: extensions.injections,
  });
  return {
    sources,
    seen,
    usage,
    unread: () => [...sources.unread, ...extensions.unread()],
    lookup: extensions.lookup(parts.compilingLookup(sources)),
    proxyEntered: (state) => proxyReady.entered(state),
    everywhere: runnableComponent(
      sources,
      "are read before the first Pod is admitted: webhooks answer from memory",
    ),
    leading: () => [
      {
        name: "read of all sources",
        reason:
          "comes before anything is written: another replica may have led meanwhile, on what this one has not seen",
        start: (_fail, signal) => sources.readAgain(signal),
        stop: () => Promise.resolve(),
      },
      runnableComponent(status, "says in their status what the controller finds of sources"),
      runnableComponent(proxyReady, "says in their status whether the proxy that they use is ready"),
      runnableComponent(access, "makes what sidecars need that ask no proxy"),
      runnableComponent(controller, "compiles what the policy injects, and tells the others what it found"),
    ],
  };
}
