import type { EventRecorder, OwnerReference } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import type { OwnPlace } from "../controllers/own-place.js";
import type { ProxyUse } from "../controllers/proxy/proxy-use.js";
import { proxySettings } from "../settings.js";
import { version } from "../version.js";
import type { CompiledInjections } from "./compiled-injections.js";
import type { Extensions } from "./extensions.js";
import type { OperatorWiring } from "./operator-wiring.js";
import type { ProxySecurity } from "./proxy-security.js";

export interface DeployedProxyParts {
  readonly events: EventRecorder;
  readonly use: ProxyUse;
  readonly security: Pick<ProxySecurity, "access" | "onAccess">;
  readonly extensions: Pick<Extensions, "applier" | "listen">;
  /** The operator's own Deployment; undefined if there is none. */
  readonly owner: (signal: AbortSignal) => Promise<OwnerReference | undefined>;
  /** Told the state of the proxy when it changes. */
  readonly injections: Pick<CompiledInjections, "proxyEntered">;
}

/** The components by which the leader deploys the proxy, in the order of their start. */
export function deployedProxy(
  wiring: OperatorWiring,
  deployed: DeployedProxyParts,
): () => readonly Component[] {
  const { options, parts, context, cluster, watches, instance } = wiring;
  const { client } = cluster;
  const { events, owner, use, security, extensions, injections } = deployed;
  const settings = proxySettings(options, version);
  const plain = new parts.Applier({ client, drift: options.drift, metrics: context.metrics });
  const applier = extensions.applier(plain, { target: "Proxy", annotations: {} });
  const subscribers = new parts.ProxySubscribers(client, settings, context);
  const own = { namespace: options.namespace, name: instance };
  const place = (signal: AbortSignal): Promise<OwnPlace> => parts.ownPlace(client, own, signal);
  const controller = new parts.ProxyController({
    settings,
    use,
    cluster: { client, applier, events, owner, place, subscribers, access: security.access },
    context,
    lingerMs: options.proxyLinger,
    onState: injections.proxyEntered,
  });
  security.onAccess(() => controller.changed());
  extensions.listen((namespace) => {
    if (namespace === options.namespace) controller.changed();
  });
  return () => [
    ...parts
      .proxyWatches(watches, options.namespace, () => controller.changed())
      .map((watch) =>
        runnableComponent(watch, "tell the controller of the proxy what others do to its objects"),
      ),
    runnableComponent(controller, "applies what the proxy should be, and waits for what its watches say"),
  ];
}
