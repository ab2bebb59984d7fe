import { proxyObjects } from "../../desired/proxy/proxy-objects.js";
import type { ProxySettings } from "../../desired/proxy/proxy-settings.js";
import { liveProxy, recordProxyEvent, type ProxyCluster } from "./proxy-cluster.js";

/**
 * Deletes the objects of the proxy, unless somebody subscribes to flags there, or may do so: workloads that were injected outlive their
 * FeatureFlagSource. What is not ours stays.
 *
 * @param isStillUnused asked when the subscribers have been counted
 * @returns which objects were deleted, as `Deployment flagd-proxy`; undefined if it stays
 * @throws KubeError
 */
export async function removeProxy(
  settings: ProxySettings,
  { client, applier, events, owner, subscribers }: ProxyCluster,
  isStillUnused: () => boolean,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const live = await liveProxy(client, settings.namespace, signal);
  if (live !== undefined && (await subscribers.count(signal)) !== 0) {
    const note = "No source uses the proxy any more; it stays while it has subscribers.";
    recordProxyEvent(events, live, { type: "Normal", reason: "StillSubscribed", note });
    return undefined;
  }
  if (!isStillUnused()) return undefined;
  const rollout = { image: settings.image, annotations: {} };
  const { deployment, others, unwanted } = proxyObjects(settings, rollout, await owner(signal));
  const removed: string[] = [];
  for (const object of [deployment, ...others, ...unwanted])
    if (await applier.remove(object, signal)) removed.push(`${object.kind} ${object.metadata.name}`);
  return removed;
}
