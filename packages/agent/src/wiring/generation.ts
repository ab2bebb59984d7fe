import type { Component, Signal } from "@bunting/runtime";
import type { SourceFlagsMessage } from "@bunting/sync-client/messages";
import { AgentError } from "../agent-error.js";
import type { CurrentDocument } from "../sync/current-document.js";
import type { SourceConfig } from "../sync/source-config.js";
import type { FailingFlag, FollowedList, SourceMemory } from "../sync/sync-source.js";
import type { StoredFlags } from "./stored-flags.js";

/** Some sources, with what is held of them. */
export interface Generation {
  readonly configs: readonly SourceConfig[];
  readonly stored: StoredFlags;
  /** What runs of it: the freshness of its sources, then these. */
  readonly components: readonly Component[];
  /** Flags whose evaluations fail while it is served, with the places that its sources have. */
  readonly failing: Signal<FailingFlag>;
  /** Memories of the sources, by their places. */
  readonly memories: readonly SourceMemory[];
  stale: ReadonlySet<number>;
  readonly sourceList: FollowedList | undefined;
  /** The list that its proxy has told it last. */
  told: SourceFlagsMessage | undefined;
}

/** A source that stays, by its places. */
export interface KeptSource {
  readonly sourceIndex: number;
  readonly before: number;
  /** Document that was taken over; undefined if none was held. */
  readonly taken: CurrentDocument | undefined;
}

/**
 * An edit comes on the streams of both generations, one after the other: nobody who has seen it is to see what was before it.
 *
 * @returns the sources that now hold something else than their streams have brought
 */
export function takeNewer(
  next: Generation,
  from: Generation,
  kept: readonly KeptSource[],
): readonly number[] {
  return kept.flatMap(({ sourceIndex, before, taken }) => {
    const served = from.stored.store.currentDocument(before);
    const { store } = next.stored;
    if (served === undefined || isSameDocument(served, taken)) return [];
    if (isSameDocument(served, store.currentDocument(sourceIndex))) return [];
    try {
      store.replace(sourceIndex, served.layout.bytes, served.version);
    } catch (error) {
      // The store has logged why there is no room for it; the stream of the generation brings it anew.
      if (!(error instanceof AgentError)) throw error;
    }
    return [sourceIndex];
  });
}

function isSameDocument(one: CurrentDocument, other: CurrentDocument | undefined): boolean {
  return other !== undefined && (one.layout === other.layout || one.layout.bytes.equals(other.layout.bytes));
}

export async function run(
  { components }: Generation,
  fail: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const component of components) await component.start(fail, signal);
}

export async function stop({ components }: Generation): Promise<void> {
  await Promise.all(components.map(async (component) => component.stop()));
}

export async function end(generation: Generation): Promise<void> {
  await stop(generation);
  await generation.stored.copies.stop();
  generation.stored.store.clear();
}

/** @returns the sources to be asked again, as there was no room for their documents beside those of another generation */
export function alone({ stored: { store } }: Generation): readonly number[] {
  store.holdBeside(undefined);
  return store.takeCrowdedOut();
}
