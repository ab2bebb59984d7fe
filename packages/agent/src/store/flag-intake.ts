import type { DocumentVersion } from "@bunting/sync-client/messages";
import { AgentError } from "../agent-error.js";
import type { Delivery, DeliveryResult } from "../sync/sync-source.js";
import type { FlagStore } from "./flag-store.js";
import type { LastKnownGood } from "./last-known-good.js";

export interface FlagIntakeOptions {
  readonly store: FlagStore;
  readonly lastKnownGood: LastKnownGood;
  /** Called after each document of a source that was accepted. */
  readonly accepted: (sourceIndex: number) => void;
  /** Called after each last-known-good copy that was accepted. */
  readonly loaded: (sourceIndex: number) => void;
}

/** Takes documents over into the store, and keeps the last-known-good copies in step with what the sources deliver. */
export class FlagIntake {
  readonly #options: FlagIntakeOptions;
  #loading: Promise<void> = Promise.resolve();

  constructor(options: FlagIntakeOptions) {
    this.#options = options;
  }

  /** Serves the last-known-good copies of sources that have nothing else, so that the agent can answer while they are unreachable. */
  load(): Promise<void> {
    // One after the other: two reads of a copy at once would leave the marks of processes that did not survive it.
    this.#loading = this.#loading.then(() => this.#load());
    return this.#loading;
  }

  #load(): Promise<void> {
    const { store, lastKnownGood, loaded } = this.#options;
    const isWanted = (sourceIndex: number): boolean => store.currentDocument(sourceIndex) === undefined;
    return lastKnownGood.load((sourceIndex, { bytes, version }) => {
      // The source may have answered while the copy was read.
      if (!isWanted(sourceIndex)) return undefined;
      try {
        store.replace(sourceIndex, bytes, version);
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
        // What there is no heap for stays on disk, for when there is, or for an agent with more.
        return error.code === "DOCUMENT_TOO_LARGE" ? undefined : false;
      }
      loaded(sourceIndex);
      return true;
    }, isWanted);
  }

  /** Takes over what a source delivered. A document that is refused leaves the store and the last-known-good copy as they were. */
  deliver({ sourceIndex, bytes, version, isDeletion }: Delivery): DeliveryResult {
    const { store, accepted, lastKnownGood } = this.#options;
    let result: DeliveryResult;
    try {
      result = store.replace(sourceIndex, bytes, version);
    } catch (error) {
      // The store has logged and counted it, and serves what it had.
      if (error instanceof AgentError) return { refusal: error.message };
      throw error;
    }
    accepted(sourceIndex);
    if (isDeletion === true) lastKnownGood.forget(sourceIndex);
    else lastKnownGood.keep(sourceIndex, bytes, version);
    return result;
  }

  /** The source now knows the document it delivered last by this version, which is kept on disk with it. */
  confirm(sourceIndex: number, version: DocumentVersion): void {
    const { store, lastKnownGood } = this.#options;
    store.confirm(sourceIndex, version);
    const current = store.currentDocument(sourceIndex);
    if (current !== undefined) lastKnownGood.keep(sourceIndex, current.layout.bytes, version);
  }
}
