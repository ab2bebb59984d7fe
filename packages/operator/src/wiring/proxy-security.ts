import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component } from "@bunting/runtime";
import { proxyAuthoritySecret } from "../certificates/authority-secret.js";
import { bundleOf } from "../certificates/bundle.js";
import type { ProxyAccess } from "../desired/proxy-security/security-state.js";
import { proxyNames } from "../desired/proxy/proxy-settings.js";
import type { AuthorityMaps } from "../controllers/security/authority-maps.js";
import type { OperatorWiring } from "./operator-wiring.js";

export interface ProxySecurity {
  /** Hears which namespaces ask the proxy. */
  readonly maps: Pick<AuthorityMaps, "asks" | "complete">;
  /** Whom the proxy is to serve, as the leader knows it. */
  readonly access: () => ProxyAccess | undefined;
  /** Has the listener called when that has changed. */
  readonly onAccess: (listener: () => void) => void;
  /** What runs on the leader, in the order of the start. */
  readonly leading: () => readonly Component[];
}

/** What takes the proxy's security where the options want it: an authority, a certificate of it, and what verifies that beside each sidecar. */
export function proxySecurity(wiring: OperatorWiring, events: EventRecorder): ProxySecurity {
  const { options, parts, context, cluster, watches, served } = wiring;
  const { namespace, clusterDomain, proxySecurity: target } = options;
  const { client } = cluster;
  const except = new Set(options.proxySecurityExcept);
  const listeners: (() => void)[] = [];
  const authorities = new parts.SecretWatch(proxyAuthoritySecret, { watches, namespace, context });
  const of = { content: proxyAuthoritySecret, certificate: "proxy-authority" } as const;
  const keeper = new parts.AuthorityKeeper({ client, namespace, context, of });
  let hasCertificate = false;
  const maps = new parts.AuthorityMaps({
    cluster: { client, watches },
    except,
    bundle: () => (authorities.items.length === 0 ? undefined : bundleOf(authorities.items)),
    onComplete: () => controller.changed(),
    onDelivered: (bundle) => keeper.bundleApplied(bundle),
    context,
  });
  const controller = new parts.SecurityController({
    cluster: { client, events, served },
    namespace,
    wanted: { target, except },
    lacking: () => (hasCertificate ? maps.lacking : undefined),
    onAccess: () => {
      for (const listener of listeners) listener();
    },
    context,
  });
  const service = `${proxyNames.service}.${namespace}`;
  const leaf = parts.proxyLeafKeeper({
    ...{ client, namespace, authorities, context },
    dnsNames: [`${service}.svc.${clusterDomain}`, `${service}.svc`, service],
    onKept: () => {
      hasCertificate = true;
      controller.changed();
    },
  });
  authorities.onChange(() => {
    keeper.look();
    maps.bundleChanged();
  });
  const issuing = [
    runnableComponent(keeper, "makes the authority of the proxy"),
    runnableComponent(leaf, "makes the certificate that the proxy serves with"),
    runnableComponent(authorities, "hears of the authority, also of one that others made"),
    runnableComponent(maps, "gives namespaces the authority before their Pods need it"),
  ];
  return {
    maps,
    access: () => controller.access,
    onAccess: (listener) => void listeners.push(listener),
    leading: () => [
      ...(target === "off" ? [] : issuing),
      runnableComponent(
        controller,
        "says whom the proxy serves, and waits for what has to be there for that",
      ),
    ],
  };
}
