import type { InjectionEntry } from "../api/injection.js";
import type { InjectionRequest } from "../pod/injection-request.js";
import type { NotInjectedReason } from "../pod/reasons.js";

/** Why there is no entry: a word for metrics and the Pod's annotation, and a sentence for the Pod's owner. */
export interface MissingEntry {
  readonly reason: NotInjectedReason;
  readonly message: string;
}

/**
 * Looks up what a Pod of a namespace gets for the text of its annotation: what was compiled, or else what can be compiled at once from objects that
 * are in memory. It asks nobody, and must answer within milliseconds.
 */
export type EntryLookup = (namespace: string, request: InjectionRequest) => InjectionEntry | MissingEntry;
