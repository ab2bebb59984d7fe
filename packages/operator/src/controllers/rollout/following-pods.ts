import { readPages, type KubeObject, type RestClient } from "@bunting/kube";
import { hasEnded } from "@bunting/featureflags/resources";
import { podType } from "../../api/core-types.js";
import { sidecarName } from "../../api/names.js";
import type { PodManifest } from "../../api/pod-manifest.js";
import { listVariable } from "../../desired/source-list.js";
import { injectionRequest, wantsFlags } from "../../pod/injection-request.js";
import type { ProxyAgents } from "../agents/proxy-agents.js";
import { workloadOfPod } from "../pods/workload-of-pod.js";
import type { ListOfText } from "./rolled-out.js";

const pageSize = 100;

/** Pods whose sidecars are to have the newest lists of their sources. */
export interface FollowingPods {
  readonly namespace: string;
  /** The newest lists, by the text of the annotation. */
  readonly lists: ReadonlyMap<string, ListOfText>;
}

/** What is known of them. Workloads are named as `workloadOfPod` does. */
export type Followed =
  /** A proxy does not say now which agents it has. */
  | { readonly kind: "unknown" }
  /** `unable`: a Pod of them can't follow. `behind`: one has not said yet that it does; it may be an older agent, or flagd. */
  | { readonly kind: "told"; readonly unable: ReadonlySet<string>; readonly behind: ReadonlySet<string> };

interface AskedPod {
  readonly workload: string;
  readonly addresses: readonly string[];
  readonly digest: string;
}

interface LivePod extends PodManifest {
  readonly status?: { readonly phase?: string; readonly podIPs?: readonly { readonly ip: string }[] };
}

/**
 * Asks the proxies which Pods follow. A Pod is known by its addresses, so that only who is in it can speak for it. One that has not started yet is
 * passed over: it is told the list when it asks for the first time.
 *
 * @throws KubeError
 */
export async function followed(
  client: Pick<RestClient, "readPage">,
  proxies: Pick<ProxyAgents, "readOf">,
  pods: FollowingPods,
  signal: AbortSignal,
): Promise<Followed> {
  const unable = new Set<string>();
  const asked: AskedPod[] = [];
  const look = (object: KubeObject): void => {
    const pod = object as KubeObject & LivePod;
    const found = readPod(pod, pods);
    const workload = workloadOfPod(pod)?.key;
    if (found === undefined || workload === undefined) return;
    if (found === "unable") unable.add(workload);
    else asked.push({ ...found, workload });
  };
  await readPages(client, { type: podType, namespace: pods.namespace }, { limit: pageSize }, look, signal);
  const waiting = asked.filter(({ workload }) => !unable.has(workload));
  if (waiting.length === 0) return { kind: "told", unable, behind: new Set() };
  const told = await proxies.readOf([...new Set(waiting.flatMap(({ addresses }) => addresses))], signal);
  if (told.kind === "unknown") return told;
  const behind = waiting.filter(({ addresses, digest }) => {
    if (told.kind === "silent") return true;
    return !addresses.some((address) => told.agents.get(address)?.lists?.includes(digest) === true);
  });
  return { kind: "told", unable, behind: new Set(behind.map(({ workload }) => workload)) };
}

/** Undefined for a Pod that does not count. */
function readPod(
  { metadata, spec, status = {} }: KubeObject & LivePod,
  { namespace, lists }: FollowingPods,
): Pick<AskedPod, "addresses" | "digest"> | "unable" | undefined {
  const request = wantsFlags(metadata) ? injectionRequest(metadata) : undefined;
  const list = request?.list === "sources" ? lists.get(request.text) : undefined;
  if (request === undefined || list === undefined) return undefined;
  if (metadata["deletionTimestamp"] !== undefined || hasEnded(status)) return undefined;
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  const { env = [] } = all.find(({ name }) => name === sidecarName) ?? {};
  const named = env.find(({ name }) => name === listVariable)?.value ?? "";
  // On the network of its node, a Pod has the address of others.
  if (!named.startsWith(`${namespace}/${request.text}@${list.frame}:`) || spec.hostNetwork === true)
    return "unable";
  const addresses = (status.podIPs ?? []).map(({ ip }) => ip);
  return status.phase !== "Running" || addresses.length === 0
    ? undefined
    : { addresses, digest: list.digest };
}
