import { setTimeout as delay } from "node:timers/promises";
import type { ApiRequest } from "./api-request.js";
import type { Exchange } from "./exchange.js";
import { apiVersion } from "./flag-object.js";
import type { ObjectStore, StoredObject } from "./object-store.js";
import { badRequest, continueExpired, listExpired, revisionTooLarge, type Status } from "./status.js";

interface ContinueToken {
  readonly v: "meta.k8s.io/v1";
  /** -1: continue with the newest state. */
  readonly rv: number;
  /** `namespace/name` of the last object that was sent. */
  readonly start: string;
}

/** The body of a LIST, or the error Status. */
export async function list(
  store: ObjectStore,
  request: ApiRequest,
  exchange: Exchange,
  freshWaitMs: number,
): Promise<Status | string> {
  const { query } = request;
  const wanted = query.get("resourceVersion") ?? "";
  if (!/^\d*$/.test(wanted))
    return badRequest(
      `invalid resource version: resourceVersion: Invalid value: "${wanted}": invalid syntax`,
    );
  const token = query.get("continue") ?? "";
  if (token !== "") {
    if (wanted !== "" && wanted !== "0") {
      return badRequest("specifying resource version is not allowed when using continue");
    }
    return continued(store, request, token);
  }
  if (Number(wanted) > store.revision) {
    await waitUntilReached(store, Number(wanted), freshWaitMs, exchange.signal);
    if (Number(wanted) > store.revision) return revisionTooLarge(Number(wanted), store.revision);
  }
  const isExact = query.get("resourceVersionMatch") === "Exact";
  if (isExact && Number(wanted) < store.compactedRevision) return listExpired();
  // A list from the watch cache is not paginated.
  const limit = wanted === "0" ? 0 : Number(query.get("limit") ?? 0);
  const revision = isExact ? Number(wanted) : store.revision;
  return page(store.list(request.selection, revision), revision, limit);
}

/** Waits a moment for a revision that is not reached yet. */
export async function waitUntilReached(
  store: ObjectStore,
  revision: number,
  withinMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (store.revision < revision && performance.now() < deadline && !signal.aborted) await delay(5);
}

function continued(store: ObjectStore, request: ApiRequest, token: string): Status | string {
  const read = readToken(token);
  if (read === undefined) return badRequest("continue key is not valid");
  const { rv, start } = read;
  if (rv >= 0 && rv < store.compactedRevision) return continueExpired(writeToken(-1, start));
  if (rv > store.revision) return revisionTooLarge(rv, store.revision);
  const revision = rv < 0 ? store.revision : rv;
  const rest = store.list(request.selection, revision).filter((object) => keyOf(object) > start);
  return page(rest, revision, Number(request.query.get("limit") ?? 0));
}

function page(objects: readonly StoredObject[], revision: number, limit: number): string {
  const items = limit > 0 ? objects.slice(0, limit) : objects;
  const last = items.at(-1);
  const remaining = objects.length - items.length;
  const metadata = {
    continue: remaining > 0 && last !== undefined ? writeToken(revision, keyOf(last)) : "",
    ...(remaining > 0 ? { remainingItemCount: remaining } : {}),
    resourceVersion: String(revision),
  };
  const body = items.map(({ json }) => json).join(",");
  return `{"apiVersion":"${apiVersion}","items":[${body}],"kind":"FeatureFlagList","metadata":${JSON.stringify(metadata)}}\n`;
}

function keyOf({ namespace, name }: StoredObject): string {
  return `${namespace}/${name}`;
}

function writeToken(rv: number, start: string): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv, start })).toString("base64url");
}

function readToken(token: string): ContinueToken | undefined {
  try {
    const read = JSON.parse(Buffer.from(token, "base64url").toString()) as Partial<ContinueToken>;
    if (read.v !== "meta.k8s.io/v1" || typeof read.rv !== "number" || typeof read.start !== "string")
      return undefined;
    return read as ContinueToken;
  } catch {
    return undefined;
  }
}
