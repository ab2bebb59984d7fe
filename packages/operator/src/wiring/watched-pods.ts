import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import { isPlainName } from "../controllers/injection/namespace-texts.js";
import type { SeenTexts } from "../controllers/injection/seen-texts.js";
import { NotInjectedEvents } from "../controllers/pods/not-injected-events.js";
import type { PodObserver } from "../controllers/pods/pod-stream.js";
import { exemptNamespaces } from "../api/webhooks.js";
import { injectionRequest } from "../pod/injection-request.js";
import type { CompiledInjections } from "./compiled-injections.js";
import type { OperatorWiring } from "./operator-wiring.js";

/** Pods that want flags, as the leader watches them: which texts they have, and whether they were given what they want, or why not. */
export function watchedPods(
  { options, parts, context, cluster, watches }: OperatorWiring,
  { events, injections }: { readonly events: EventRecorder; readonly injections: CompiledInjections },
): () => readonly Component[] {
  const { client } = cluster;
  const { lookup, seen, usage } = injections;
  const { missedPods: policy, namespace } = options;
  const exempt = new Set(exemptNamespaces(namespace));
  const missed = new parts.MissedPods({ client, events, lookup, exempt, policy, context });
  const observers = [missed, new NotInjectedEvents(events), textObserver(seen), usage];
  const stream = new parts.PodStream(watches, observers, options.podSelector);
  return () => [
    runnableComponent(missed, "finds Pods without flags among those that are streamed"),
    runnableComponent(stream, "begins when all that hear of Pods run"),
  ];
}

/** Has texts that Pods bring compiled for the next ones. */
function textObserver(seen: SeenTexts): PodObserver {
  return {
    seen: (key, metadata) => {
      const request = injectionRequest(metadata);
      if (request === undefined || isPlainName(request.text)) return;
      seen.add(key.split("/")[0] ?? "", request.list, request.text);
    },
    gone: () => undefined,
  };
}
