import { comparePositions } from "@bunting/backplane";
import { historyLength, type PastVersion } from "@bunting/protocol";
import { historyAfter } from "../history-after.js";
import type { Known } from "./known.js";

/** What is known, if it is the same document at another place: its history stays. */
export function keepHistory(known: Known, before: Known | undefined): Known {
  return known.kind === "document" && known.document === before?.document
    ? { ...known, history: before.history }
    : known;
}

/**
 * What is known, with what replicas have to know to bring others from earlier versions to it.
 *
 * @param reported the history that the subscribers of this replica have of it, if there are any
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
 * What is known, with its history by way of what Redis holds, which is the same or came before: undefined if that adds nothing. Whoever starts
 * from a version before the stored one passes through all that is known since, which may be more than needed, and is right.
 */
export function withHistoryThrough(stored: Known, newest: Known | undefined): Known | undefined {
  if (stored.kind !== "document" || newest?.kind !== "document") return undefined;
  const [own, before] = [newest.history ?? [], stored.history ?? []];
  // Mostly what is known is more, and then nothing has to be compared.
  if (own.length > 0 && own.length >= before.length) return undefined;
  const isSame = comparePositions(stored, newest) === 0;
  const history = isSame ? before : [...(historyAfter(stored, newest.document) ?? []), ...own];
  return history.length > own.length ? { ...newest, history: history.slice(-historyLength) } : undefined;
}
