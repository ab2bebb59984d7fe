import type { ExtensionHook } from "@bunting/extension";
import type { EventRecorder } from "@bunting/kube";
import { parseAllowedHost } from "@bunting/outbound";
import { runnableComponent, type Component } from "@bunting/runtime";
import type { EntryLookup } from "../admission/entry-lookup.js";
import type { FeatureFlagWebhookOptions } from "../admission/validate-feature-flag.js";
import type { Applier } from "../controllers/apply/applier.js";
import type { ClusterExtensions } from "../controllers/extensions/cluster-extensions.js";
import type { ExtendedEntries } from "../controllers/extensions/extended-entries.js";
import type { ExtendedInjection } from "../controllers/extensions/extended-injection.js";
import type { ExtendedTarget } from "../controllers/extensions/extending-applier.js";
import type { ExtensionHealth } from "../controllers/extensions/extension-health.js";
import type { ExtensionRetries } from "../controllers/extensions/extension-retries.js";
import { storedFailure } from "../controllers/extensions/extension-status.js";
import type { ClusterNamespaces } from "../controllers/injection/cluster-namespaces.js";
import type { InjectionExtensions } from "../controllers/injection/injection-controller.js";
import type { ExtensionPeers } from "../extensions/extension-peers.js";
import { OperatorError } from "../operator-error.js";
import type { OperatorWiring } from "./operator-wiring.js";

/** What asks extensions. */
export interface Extensions {
  /** With what extensions are told of them; undefined if no extension is asked. */
  readonly namespaces: ClusterNamespaces | undefined;
  /** Of Injections; undefined if no extension is asked at all. */
  readonly injections: InjectionExtensions | undefined;
  readonly lookup: (plain: EntryLookup) => EntryLookup;
  readonly comments: FeatureFlagWebhookOptions["comments"];
  /** Applies objects as extensions have them. */
  readonly applier: (applier: Applier, target: ExtendedTarget) => Pick<Applier, "apply" | "remove">;
  /** Calls back with each namespace whose objects may have to be made anew. */
  readonly listen: (listener: (namespace: string) => void) => () => void;
  /** What of them has not been read yet. */
  readonly unread: () => readonly string[];
  /** What runs on every replica. */
  readonly everywhere: readonly Component[];
  /** What runs on the leader, in the order of the start. */
  readonly leading: () => readonly Component[];
}

const none: Extensions = {
  namespaces: undefined,
  injections: undefined,
  lookup: (plain) => plain,
  comments: undefined,
  applier: (applier) => applier,
  listen: () => () => undefined,
  unread: () => [],
  everywhere: [],
  leading: () => [],
};

/**
 * Extensions: who they are, and who asks them. Without the option for them nobody does.
 *
 * @throws OperatorError OPTION_INVALID if the options want extensions in some namespaces only
 */
export function extensionsOf(wiring: OperatorWiring, events: EventRecorder): Extensions {
  const { options, parts, context, cluster, watches, served } = wiring;
  if (!options.extensions) return none;
  if (served !== undefined)
    throw new OperatorError(
      "OPTION_INVALID",
      "--extensions asks for rights in the whole cluster, and --watch-namespaces for none: leave one of them out",
    );
  const { client } = cluster;
  const { clock, logger, metrics } = context;
  const namespaces = new parts.ClusterNamespaces(watches, true);
  const extensions = new parts.ClusterExtensions(watches, namespaces);
  const health = new parts.ExtensionHealth();
  const peers = peersOf(wiring, extensions, health);
  const making = peers["pre-create"];
  const retries = new parts.ExtensionRetries({
    lookAgain: (namespace) => {
      entries.forgetAnswers(namespace);
      extensions.lookAt(namespace);
    },
    onSettled: (extension) => health.settled(extension),
    context,
  });
  health.listen((name) => {
    const state = health.of(name);
    metrics.extensionFailing(name, state.kind === "failing" ? 1 : 0);
    if (state.kind === "failing")
      logger.warn({ extension: name, error: state.lastError }, "an extension fails");
    else if (state.kind === "healthy") retries.recovered();
  });
  const onAsked = retries.asked.bind(retries);
  const entries = new parts.ExtendedEntries({ extensions, peers: making, onAsked, context });
  const extended = new parts.ExtendedInjection({ extensions, entries, events });
  const stored = new parts.StoredInjections(watches);
  const places = new parts.ExtensionPlaceController({ client, extensions, context });
  const probes = new parts.ExtensionProbes({ extensions, health, peers, retries, context });
  const told = new parts.ExtensionHealthController({ client, extensions, health, context });
  return {
    namespaces,
    injections: injectionsOf({ extensions, entries, extended, retries }),
    lookup: (plain) => parts.extendedLookup({ extensions, injections: stored, plain }),
    comments: parts.flagComments({ extensions, peers: peers.lint, clock }),
    applier: (applier, target) =>
      new parts.ExtendingApplier({ applier, client, extensions, peers: making, onAsked }, target),
    listen: (listener) => extensions.listen(listener),
    unread: () => [extensions, stored].filter(({ hasSynced }) => !hasSynced).map(({ name }) => name),
    everywhere: [
      runnableComponent(
        extensions,
        "are known before the first Pod is admitted, and the first entry compiled",
      ),
      runnableComponent(stored, "have what extensions made, which webhooks give to Pods"),
      runnableComponent(
        told,
        "says in their status how they do: FeatureFlags are written by way of each replica",
      ),
    ],
    leading: () => [
      runnableComponent(entries, "asks extensions for those who compile"),
      runnableComponent(retries, "has them asked again that failed"),
      runnableComponent(probes, "asks those that fail, and that nothing else asks"),
      runnableComponent(places, "says in their status where they are in the order"),
    ],
  };
}

/** Who asks extensions, by what for: comments on FeatureFlags do not wait behind entries of hundreds of namespaces. */
function peersOf(
  { options, parts, context: { clock, metrics } }: OperatorWiring,
  extensions: ClusterExtensions,
  health: ExtensionHealth,
): Readonly<Record<ExtensionHook, ExtensionPeers>> {
  const hosts = options.extensionHosts.map(parseAllowedHost);
  const token = parts.extensionToken(options.extensionTokenFile);
  const peerOf = (hook: ExtensionHook): ExtensionPeers => {
    const caller = new parts.ExtensionCaller({
      ...{ hosts, token, clock },
      onCalled: (extension, kind) => {
        metrics.extensionCalled(kind);
        health.called(extension, hook, kind);
      },
    });
    extensions.listenToExtensions(() => caller.keep(extensions.asked.order));
    return {
      ask: caller.ask.bind(caller),
      heard: (extension, answer) => health.heard(extension, hook, answer),
    };
  };
  extensions.listenToExtensions((name) => {
    health.keep(extensions.asked.order);
    const extension = extensions.extension(name);
    if (extension !== undefined) health.stored(extension, storedFailure(extension));
  });
  return { "pre-create": peerOf("pre-create"), lint: peerOf("lint") };
}

interface InjectionParts {
  readonly extensions: Pick<ClusterExtensions, "whenSynced" | "listen" | "askedFor">;
  readonly entries: Pick<ExtendedEntries, "listen" | "forget" | "forgetAnswers">;
  readonly extended: Pick<ExtendedInjection, "of">;
  readonly retries: Pick<ExtensionRetries, "forget">;
}

/** What makes Injections as extensions have them. */
function injectionsOf({ extensions, entries, extended, retries }: InjectionParts): InjectionExtensions {
  return {
    whenSynced: extensions.whenSynced,
    listen: (listener) => {
      const stops = [
        extensions.listen((namespace) => listener(namespace, false)),
        entries.listen((namespace) => listener(namespace, true)),
      ];
      return () => stops.forEach((stop) => stop());
    },
    areAsked: (namespace) =>
      extensions.askedFor({ hook: "pre-create", target: "Sidecar", namespace }).length > 0,
    of: extended.of.bind(extended),
    forget: (namespace, why) => {
      if (why === "written") {
        entries.forgetAnswers(namespace);
        return;
      }
      entries.forget(namespace);
      retries.forget(namespace);
    },
  };
}
