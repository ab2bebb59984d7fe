import { comparePositions } from "@bunting/backplane";
import { historyLength, type PastVersion } from "@bunting/protocol";
import { historyAfter } from "../history-after.js";
import type { Known } from "./known.js";

/** Keeps the history if `known` is the same document at another position. */
export function keepHistory(known: Known, before: Known | undefined): Known {
  return known.kind === "document" && known.document === before?.document
    ? { ...known, history: before.history }
    : known;
}

/**
 * Adds the history that other replicas need to send deltas from earlier versions.
 *
 * @param reported the history that the subscribers of this replica have, if there are any
 */
export function withHistory(
  known: Known,
  before: Known | undefined,
  reported: readonly PastVersion[] | undefined,
): Known {
  if (known.kind !== "document") return known;
  if (reported !== undefined) return { ...known, history: reported };
  return before?.kind === "document" ? { ...known, history: historyAfter(before, known.document) } : known;
}

/**
 * Extends the history of `newest` by that of a record in Redis, which is the same version or an older one. Undefined if
 * the record adds nothing. A delta from a version before the record may then be larger than needed, but is right.
 */
export function withHistoryThrough(stored: Known, newest: Known | undefined): Known | undefined {
  if (stored.kind !== "document" || newest?.kind !== "document") return undefined;
  const [own, before] = [newest.history ?? [], stored.history ?? []];
  // Our history is usually longer: then no documents are compared.
  if (own.length > 0 && own.length >= before.length) return undefined;
  const isSame = comparePositions(stored, newest) === 0;
  const history = isSame ? before : [...(historyAfter(stored, newest.document) ?? []), ...own];
  return history.length > own.length ? { ...newest, history: history.slice(-historyLength) } : undefined;
}
