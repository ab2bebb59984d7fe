import type { Identity } from "../identity.js";
import { canonicalAddress } from "./pod-address.js";

/** The parts of a Pod that identification needs. The API server may leave out any of them. */
export interface Pod {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly hostNetwork?: boolean; readonly serviceAccountName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip?: string }[];
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
  };
}

/** True if a Pod has this address, in either family, and its containers may still run. */
export function holds({ status = {} }: Pod, address: string): boolean {
  if (status.phase === "Succeeded" || status.phase === "Failed") return false;
  return [status.podIP, ...(status.podIPs ?? []).map(({ ip }) => ip)].some(
    (each) => each !== undefined && canonicalAddress(each) === address,
  );
}

export function isEnding({ metadata }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true;
}

/** The identity of a Pod; undefined if it runs as no ServiceAccount. Static Pods do: what the API server has of them is a mirror. */
export function identityOf({ metadata, spec }: Pod): Identity | undefined {
  const { name, namespace, uid, annotations } = metadata ?? {};
  const serviceAccount = spec?.serviceAccountName ?? "";
  if (name === undefined || namespace === undefined || uid === undefined || serviceAccount === "")
    return undefined;
  if (annotations?.["kubernetes.io/config.mirror"] !== undefined) return undefined;
  return { kind: "pod-ip", namespace, serviceAccount, pod: name, podUid: uid };
}
