import type { KubeObject } from "@bunting/kube";
import type { DesiredObject } from "../../desired/desired-object.js";
import { shortDigest } from "../../desired/entry-digest.js";
import { proxyObjects, type ProxyObjects } from "../../desired/proxy/proxy-objects.js";
import { proxyRollout, type LiveDeployment, type ProxyRollout } from "../../desired/proxy/proxy-rollout.js";
import type { ProxySettings } from "../../desired/proxy/proxy-settings.js";
import { nameTaken, type AppliedEvents } from "../apply/applied-events.js";
import { isOurs } from "../apply/managed-object.js";
import { liveProxy, recordProxyEvent, type ProxyCluster } from "./proxy-cluster.js";
import { proxyStateOf, type ProxyState } from "./proxy-state.js";

/** What there is of the proxy, and what there should be. */
export interface ProxyPlan {
  readonly before: (KubeObject & LiveDeployment) | undefined;
  readonly rollout: ProxyRollout;
  readonly objects: ProxyObjects;
  /** A digest of what there should be, whatever others have made of it. */
  readonly wanted: string;
}

/** @throws KubeError */
export async function planProxy(
  settings: ProxySettings,
  { client, owner, place }: ProxyCluster,
  signal: AbortSignal,
): Promise<ProxyPlan> {
  const before = await liveProxy(client, settings.namespace, signal);
  const rollout = proxyRollout(settings.image, before);
  const placed = { ...settings, ...(await place?.(signal)) };
  const owned = await owner(signal);
  const wanted = shortDigest(proxyObjects(placed, { image: settings.image, annotations: {} }, owned));
  return { before, rollout, objects: proxyObjects(placed, rollout, owned), wanted };
}

/** The state of the proxy of which nothing is written now. */
export function proxyStateNow({ before, rollout, objects: { deployment } }: ProxyPlan): ProxyState {
  if (before === undefined) return { kind: "deploying" };
  if (!isOurs(before, deployment)) return { kind: "nameTaken", message: nameTaken(deployment) };
  return proxyStateOf(before, rollout);
}

/**
 * Applies the objects of the proxy. At an object that is not ours it ends, since a part of the proxy is of no use.
 *
 * @throws KubeError
 */
export async function deployProxy(
  { before, rollout, objects: { deployment, others, unwanted } }: ProxyPlan,
  { applier, events }: ProxyCluster,
  news: AppliedEvents,
  signal: AbortSignal,
): Promise<ProxyState> {
  const leave = (desired: DesiredObject, object: KubeObject): ProxyState => {
    news.report(desired, { kind: "nameTaken", object });
    return { kind: "nameTaken", message: nameTaken(desired) };
  };
  // Before anything else is made.
  if (before !== undefined && !isOurs(before, deployment)) return leave(deployment, before);
  for (const object of others) {
    const applied = await applier.apply(object, signal);
    if (applied.kind === "nameTaken") return leave(object, applied.object);
    news.report(object, applied);
  }
  for (const former of unwanted) await applier.remove(former, signal);
  const applied = await applier.apply(deployment, signal);
  if (applied.kind === "nameTaken") return leave(deployment, applied.object);
  news.report(deployment, applied);
  if (rollout.refusedImage !== undefined) {
    const note = `The image ${rollout.refusedImage} did not become available in 5 minutes: ${rollout.image} runs again.`;
    recordProxyEvent(events, applied.object, { type: "Warning", reason: "RolledBack", note });
  }
  return proxyStateOf(applied.object, rollout);
}
