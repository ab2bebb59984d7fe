import type { Identity } from "../identity.js";
import { holds, identityOf, isEnding, type Pod } from "./pod.js";

/** The Pod that an address belongs to, or why there is none. */
export type PodAnswer =
  | { readonly kind: "pod"; readonly identity: Identity }
  /** Its Pod is being deleted: its connections stay until it has ended, but it gets no new ones. */
  | { readonly kind: "ending"; readonly podUid: string | undefined }
  | { readonly kind: "unknown" | "host-network" | "ambiguous" | "no-account" };

/** Reads the Pods that the API server listed for an address: a PodList. */
export function podOfAddress(list: unknown, address: string): PodAnswer {
  const { items } = (list ?? {}) as { items?: readonly Pod[] | null };
  // The selector of the request says the same; but an identity is not concluded from what was only asked for.
  const holders = (items ?? []).filter((pod) => holds(pod, address));
  if (holders.some(({ spec }) => spec?.hostNetwork === true)) return { kind: "host-network" };
  const [pod, another] = holders;
  if (pod === undefined) return { kind: "unknown" };
  // Also if one is being deleted: it may be the one that sends, for as long as it runs.
  if (another !== undefined) return { kind: "ambiguous" };
  const identity = identityOf(pod);
  if (identity === undefined) return { kind: "no-account" };
  return isEnding(pod) ? { kind: "ending", podUid: identity.podUid } : { kind: "pod", identity };
}
