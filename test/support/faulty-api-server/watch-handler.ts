import type { ApiRequest } from "./api-request.js";
import type { Exchange } from "./exchange.js";
import { waitUntilReached } from "./list-handler.js";
import type { ObjectStore } from "./object-store.js";
import { OpenWatch } from "./open-watch.js";
import {
  invalidListOptions,
  revisionTooLarge,
  status,
  watchExpired,
  watchListDisabled,
  watchListUnsupported,
  type Status,
} from "./status.js";

/** How WatchList is answered: served, refused with 422 (feature gate off), or refused within the stream (etcd too old). */
export type WatchListMode = "served" | "invalid" | "storage-error";

export interface WatchBehaviour {
  watchList: WatchListMode;
  /** How a watch learns that its resourceVersion is too old: within the stream under status 200, or by status 410. */
  expiredAs: "stream" | "http";
  /** How long a read waits for a resourceVersion that is not reached yet. */
  freshWaitMs: number;
}

/** How a watch begins: with this state, with the history since a revision, or not at all. */
export type WatchStart =
  | { readonly kind: "refused"; readonly status: Status; readonly inStream: boolean }
  | { readonly kind: "state"; readonly bookmark: boolean }
  | { readonly kind: "resume"; readonly revision: number };

/** Decides how the watch begins, after waiting if need be; the caller must act on it in the same turn. */
export async function decideStart(
  store: ObjectStore,
  request: ApiRequest,
  exchange: Exchange,
  behaviour: WatchBehaviour,
): Promise<WatchStart> {
  const { query } = request;
  const wanted = query.get("resourceVersion") ?? "";
  const refuse = (status: Status, inStream: boolean): WatchStart => ({ kind: "refused", status, inStream });
  if (!/^\d*$/.test(wanted))
    return refuse(status(500, "", `resourceVersion: Invalid value: "${wanted}": invalid syntax`), false);

  if (query.has("sendInitialEvents")) {
    if (behaviour.watchList === "invalid") return refuse(watchListDisabled(), false);
    if (query.get("resourceVersionMatch") !== "NotOlderThan") {
      const message = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
      return refuse(invalidListOptions("resourceVersionMatch", "FieldValueForbidden", message), false);
    }
  } else if (query.has("resourceVersionMatch")) {
    const message =
      "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    return refuse(invalidListOptions("resourceVersionMatch", "FieldValueForbidden", message), false);
  }

  if (request.kind === "watchlist") {
    if (behaviour.watchList === "storage-error") return refuse(watchListUnsupported(), true);
    const revision = Number(wanted);
    await waitUntilReached(store, revision, behaviour.freshWaitMs, exchange.signal);
    if (revision > store.revision) return refuse(revisionTooLarge(revision, store.revision), true);
    return { kind: "state", bookmark: true };
  }
  const startsNow = query.get("sendInitialEvents") === "false";
  if (wanted === "" || wanted === "0") {
    return startsNow ? { kind: "resume", revision: store.revision } : { kind: "state", bookmark: false };
  }
  if (Number(wanted) < store.compactedRevision) {
    const status = watchExpired(Number(wanted), store.compactedRevision);
    return refuse(status, behaviour.expiredAs === "stream");
  }
  // Also beyond the newest revision: 200, and silence until the counter has passed it.
  return { kind: "resume", revision: Number(wanted) };
}

/** Sends the head, and returns the open watch, still without events. */
export function openWatch(exchange: Exchange, request: ApiRequest): OpenWatch {
  exchange.head(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
  return new OpenWatch(request, exchange);
}

/** Sends the events a watch begins with. */
export function beginWatch(watch: OpenWatch, store: ObjectStore, start: WatchStart): void {
  if (start.kind === "refused") watch.error(start.status);
  else if (start.kind === "resume") {
    watch.start([], start.revision);
    for (const event of store.since(start.revision)) watch.offer(event);
  } else {
    watch.start(store.list(watch.request.selection), store.revision);
    if (start.bookmark) watch.bookmark(store.revision, true);
  }
}
