import { cut } from "@bunting/runtime";
import type { Side } from "./merge-remote.js";
import type { RemoteStateName } from "./remote-state.js";

/** A remote as this process knows it. */
export interface RemoteReport {
  /** Undefined if another replica reads it. */
  readonly state: RemoteStateName | undefined;
  /** Why it is in that state, or what has failed since its last answer: a name, and a sentence. */
  readonly reason: string | undefined;
  readonly message: string | undefined;
  /** Since when it has been in that state, in ms of the monotonic clock. */
  readonly sinceMs: number | undefined;
  /** What is served otherwise than the sides say, as sentences: flags that are left out, evaluators that have other names. */
  readonly remarks?: readonly string[];
  /** The side of each flag; undefined while only those of the local side are served. */
  readonly provenance: ReadonlyMap<string, Side> | undefined;
}

/** A remote as a status has it. Everything is absent that this process does not know: one replica of a proxy reads the remote for all. */
export interface RemoteView {
  readonly state?: RemoteStateName;
  /** Why it is in that state, or has failed since its last answer: as a condition's reason, and as a sentence. */
  readonly reason?: string;
  readonly message?: string;
  /** What is served otherwise than the sides say, as a sentence: flags that are left out, evaluators that have other names. */
  readonly remarks?: string;
  /** Since when it has been in that state, in ms since the epoch. */
  readonly sinceMs?: number;
  /** Flags by the side that they are of; absent while those of the local side alone are served. */
  readonly flags?: { readonly local: number; readonly remote: number };
}

const maxMessageCharacters = 500;
const maxNames = 1_000;
const maxNameCharacters = 100;

/** @param fromMonotonic makes ms since the epoch of those of the monotonic clock */
export function remoteView(
  { state, reason, message, sinceMs, remarks = [], provenance }: RemoteReport,
  fromMonotonic: (ms: number) => number,
): RemoteView {
  let remote = 0;
  for (const side of provenance?.values() ?? []) if (side === "remote") remote++;
  return {
    ...(state === undefined ? {} : { state }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message: cut(message, maxMessageCharacters) }),
    ...(remarks.length === 0 ? {} : { remarks: cut(remarks.join("; "), maxMessageCharacters) }),
    ...(sinceMs === undefined ? {} : { sinceMs: fromMonotonic(sinceMs) }),
    ...(provenance === undefined ? {} : { flags: { local: provenance.size - remote, remote } }),
  };
}

/** The names of the flags that are of the remote, a thousand at most; undefined without any. */
export function remoteFlags({
  provenance = new Map(),
}: Pick<RemoteReport, "provenance">): readonly string[] | undefined {
  const names: string[] = [];
  for (const [name, side] of provenance) {
    if (names.length === maxNames) break;
    if (side === "remote") names.push(cut(name, maxNameCharacters));
  }
  return names.length === 0 ? undefined : names;
}
