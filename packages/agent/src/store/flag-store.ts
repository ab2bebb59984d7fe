import { hash } from "node:crypto";
import type { DocumentVersion } from "@bunting/sync-client/messages";
import type { Flag, InvalidFlag } from "@bunting/evaluation";
import { cut, RateLimitedLog, singleLine, systemClock, type Context } from "@bunting/runtime";
import { countReleased } from "../v8/collect-released.js";
import type { CurrentDocument, DocumentName } from "../sync/current-document.js";
import { shownUri } from "../sync/shown-uri.js";
import { EffectiveFlags } from "./effective-flags.js";
import type { FlagChange } from "./flag-change.js";
import type { HeapBudget } from "./heap-budget.js";
import { isExpected, documentRefusal } from "./document-refusal.js";
import { movedSource, updateSource, type SourceDocument, type SourceUpdate } from "./update-source.js";
import type { StoreMetrics } from "./store-metrics.js";

/** What one update did to the flags that are served, over all sources. */
export interface StoreChange {
  /** Exactly the flags that changed. Empty when a new list of sources leaves every flag as it was. */
  readonly changes: readonly FlagChange[];
  /** Flags that are new or changed among those served. */
  readonly upserted: readonly Flag[];
  /** Flags that are no longer served, nor replaced. */
  readonly removed: readonly Flag[];
}

export interface ReplaceResult extends Pick<StoreChange, "upserted" | "removed"> {
  /** Whether what is served changed. */
  readonly changed: boolean;
  /** All flags of the document that were rejected, including those rejected before. */
  readonly rejectedFlags: readonly InvalidFlag[];
}

export interface FlagStoreOptions {
  /** In ascending priority: of flags with the same flagSetId and key, the one of the latest source is served. */
  readonly sources: readonly { readonly uri: string; readonly selector?: string }[];
  readonly budget: HeapBudget;
  readonly context: Pick<Context<StoreMetrics>, "logger" | "metrics"> & Partial<Pick<Context, "clock">>;
  /** Called with sources whose newest document was refused for want of room, once a document has left room for it. */
  readonly onRoom?: (sources: readonly number[]) => void;
}

const unchanged: StoreChange = { changes: [], upserted: [], removed: [] };

/**
 * The flags that are served. Each source has one document here, which a newer one replaces atomically.
 *
 * Invariants:
 * - A refused document changes nothing: the source keeps its document, its version and its flags.
 * - Listeners are called after the swap, so they read the new flags.
 * - A source is identified by its place in the list, never by its URI: the sources that the operator writes for two FeatureFlags have the same
 *   URI, the proxy's. A store that used the URI would let each wipe the flags of the other (as flagd does).
 */
export class FlagStore {
  readonly #options: FlagStoreOptions;
  readonly #log: RateLimitedLog;
  readonly #states: (SourceDocument | undefined)[];
  readonly #versions: (DocumentVersion | undefined)[];
  /** Digests of documents without a version, each computed when it is first asked for. */
  readonly #digests: (string | undefined)[] = [];
  #effective = new EffectiveFlags();
  readonly #listeners = new Set<(change: StoreChange) => void>();
  /** The store of the other generation while sources are switched: both share the heap budget. */
  #beside: FlagStore | undefined;
  /** Sources whose newest document the flags in use left no room for, with the heap that it needs at least, in bytes. */
  readonly #crowdedOut = new Map<number, number>();

  constructor(options: FlagStoreOptions) {
    this.#options = options;
    this.#log = new RateLimitedLog(options.context.logger, options.context.clock ?? systemClock);
    this.#states = options.sources.map(() => undefined);
    this.#versions = options.sources.map(() => undefined);
  }

  /** The flag that is served for a flagSetId ("" for none) and key. */
  flag(flagSetId: string, key: string): Flag | undefined {
    return this.#effective.get(flagSetId, key);
  }

  /** All flags that are served, by flagSetId, then key. The list is never changed, so callers may keep it. */
  flags(): readonly Flag[] {
    return this.#effective.sorted();
  }

  /** Size of the largest document that can be accepted, in bytes. */
  get maxDocumentBytes(): number {
    return this.#options.budget.maxDocumentBytes;
  }

  /** The current document of a source: the newest accepted one, unchanged. */
  currentDocument(sourceIndex: number): CurrentDocument | undefined {
    const state = this.#states[sourceIndex];
    return (
      state && {
        layout: state.index,
        version: this.#versions[sourceIndex],
        rejectedFlags: this.rejectedFlags(sourceIndex),
      }
    );
  }

  /** What the current document of a source is called; undefined if there is none. */
  documentName(sourceIndex: number): DocumentName | undefined {
    const state = this.#states[sourceIndex];
    if (state === undefined) return undefined;
    const { digest, resourceVersion } = this.#versions[sourceIndex] ?? {};
    if (digest === undefined)
      return { digest: (this.#digests[sourceIndex] ??= hash("sha256", state.index.bytes)) };
    const version = resourceVersion === undefined ? {} : { resourceVersion: singleLine(resourceVersion) };
    return { digest: digest.toString("hex"), ...version };
  }

  /** Flags of the current document of a source that were rejected. */
  rejectedFlags(sourceIndex: number): readonly InvalidFlag[] {
    return [...(this.#states[sourceIndex]?.rejected.values() ?? [])];
  }

  /** Whether flags of a source are served, or would be if no later source had them. */
  servesFlags(sourceIndex: number): boolean {
    return this.#states[sourceIndex]?.flags.some((flag) => flag !== undefined) ?? false;
  }

  /** Sets the version of the current document of a source. */
  confirm(sourceIndex: number, version: DocumentVersion): void {
    this.#versions[sourceIndex] = version;
  }

  /** Calls the listener after each change of the flags that are served. Returns a function that removes it. */
  onChange(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Replaces the document of a source.
   *
   * @param version the source's name for this document; undefined if it has none
   * @throws AgentError DOCUMENT_INVALID or DOCUMENT_TOO_LARGE, logged and counted here; the previous document is then still served
   */
  replace(sourceIndex: number, bytes: Buffer, version?: DocumentVersion): ReplaceResult {
    const { metrics } = this.#options.context;
    const startedMs = performance.now();
    const update = this.#read(sourceIndex, bytes);
    const change = this.#swap(sourceIndex, update);
    this.#versions[sourceIndex] = version;
    this.#digests[sourceIndex] = undefined;
    const { rejected } = update.state;
    metrics.documentApplied(performance.now() - startedMs);
    metrics.documentBytes(sourceIndex, bytes.length);
    metrics.flagsServed(this.#effective.size);
    metrics.flagsRejected(sourceIndex, rejected.size);
    this.#logRejections(sourceIndex, update.newlyRejected);
    if (change.changes.length > 0) {
      this.#notify(change);
      this.#logChanges(sourceIndex, change.changes);
    }
    const sources = this.takeCrowdedOut();
    if (sources.length > 0) this.#options.onRoom?.(sources);
    return {
      changed: change.changes.length > 0,
      upserted: change.upserted,
      removed: change.removed,
      rejectedFlags: this.rejectedFlags(sourceIndex),
    };
  }

  /** Takes over the document of a source from another store, without parsing it. Listeners are not called. */
  adopt(sourceIndex: number, from: FlagStore, fromIndex: number): void {
    const document = from.#states[fromIndex];
    if (document === undefined) return;
    const moved = movedSource(document, sourceIndex);
    this.#states[sourceIndex] = moved;
    this.#versions[sourceIndex] = from.#versions[fromIndex];
    this.#digests[sourceIndex] = from.#digests[fromIndex];
    for (const flag of moved.flags) if (flag !== undefined) this.#effective.put(flag);
  }

  /** Shares the heap budget with the other store, which needs the same call, until this is called with undefined. */
  holdBeside(other: FlagStore | undefined): void {
    this.#beside = other;
  }

  /** The sources to ask for their document again, because there was no room for it and is now. Each is returned once. */
  takeCrowdedOut(): readonly number[] {
    if (this.#crowdedOut.size === 0) return [];
    const freeBytes = this.#options.budget.flagBytes - this.#heldWeight;
    const sources = [...this.#crowdedOut].flatMap(([index, bytes]) => (bytes <= freeBytes ? index : []));
    for (const index of sources) this.#crowdedOut.delete(index);
    return sources;
  }

  /** Releases the documents and flags. The empty store may stay reachable for longer, such as from a stack trace that node has not formatted. */
  clear(): void {
    this.#states.fill(undefined);
    this.#versions.fill(undefined);
    this.#effective = new EffectiveFlags();
    this.#beside = undefined;
  }

  /** The heap of the documents in both stores. A document that both hold, because its source stays, counts once. */
  get #heldWeight(): number {
    const states = [...this.#states, ...(this.#beside === undefined ? [] : this.#beside.#states)];
    const weights = new Map(states.map((state) => [state?.index, state?.weight ?? 0]));
    let sum = 0;
    for (const weight of weights.values()) sum += weight;
    return sum;
  }

  #read(sourceIndex: number, bytes: Buffer): SourceUpdate {
    const { sources, budget, context } = this.#options;
    const uri = sources[sourceIndex]?.uri ?? "";
    const currentWeight = this.#heldWeight;
    let neededBytes = Infinity;
    this.#crowdedOut.delete(sourceIndex);
    try {
      budget.checkDocument(bytes.length);
      return updateSource(bytes, this.#states[sourceIndex], { uri, sourceIndex }, (weight) => {
        neededBytes = weight;
        budget.checkFlags(bytes.length, currentWeight, weight);
      });
    } catch (cause) {
      const error = documentRefusal(cause, bytes);
      const code = error.code === "DOCUMENT_TOO_LARGE" ? error.code : "DOCUMENT_INVALID";
      const fields = { source: shownUri(uri), sourceIndex, code, reason: cut(error.message) };
      if (code === "DOCUMENT_TOO_LARGE") this.#crowdedOut.set(sourceIndex, neededBytes);
      context.metrics.documentRefused(sourceIndex, code);
      this.#log.error(
        `refused ${sourceIndex}`,
        isExpected(cause) ? fields : { ...fields, error: cause },
        "a flag document was refused; the previous flags are still served",
        linesPerMinute,
      );
      throw error;
    }
  }

  #swap(sourceIndex: number, update: SourceUpdate): StoreChange {
    countReleased(this.#states[sourceIndex]?.index.bytes.byteLength ?? 0);
    this.#states[sourceIndex] = update.state;
    if (update.put.length === 0 && update.removed.length === 0) return unchanged;
    const touched = [...update.put, ...update.removed];
    const before = touched.map((flag) => this.#effective.get(flag.flagSetId, flag.key));
    for (const flag of update.put) this.#effective.put(flag);
    const others = this.#states.toSpliced(sourceIndex, 1);
    this.#effective.remove(
      update.removed,
      others.map((state) => state?.flags ?? []),
    );
    const changes: FlagChange[] = [];
    touched.forEach(({ key, flagSetId }, i) => {
      const was = before[i];
      const is = this.#effective.get(flagSetId, key);
      if (was === is) return;
      const type = was === undefined ? "write" : is === undefined ? "delete" : "update";
      changes.push({ key, flagSetId, type, before: was, after: is });
    });
    return {
      changes,
      upserted: changes.flatMap(({ after }) => after ?? []),
      removed: changes.flatMap(({ before: was, after }) => (after === undefined ? (was ?? []) : [])),
    };
  }

  #notify(change: StoreChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#options.context.logger.error({ error }, "a listener of the flag store failed");
      }
    }
  }

  #logChanges(sourceIndex: number, changes: readonly FlagChange[]): void {
    const { uri = "", selector = "" } = this.#options.sources[sourceIndex] ?? {};
    const more = changes.length - maxLoggedFlags;
    this.#log.info(
      `changed ${sourceIndex}`,
      // Called only for lines that are written: the digest of a document without a version hashes all its bytes.
      () => ({
        source: shownUri(uri),
        ...(selector === "" ? {} : { selector }),
        sourceIndex,
        ...this.documentName(sourceIndex),
        flags: changes
          .slice(0, maxLoggedFlags)
          .map(({ key }) => singleLine(key.slice(0, maxLoggedCharacters))),
        ...(more > 0 ? { more } : {}),
      }),
      "flags changed",
      linesPerMinute,
    );
  }

  #logRejections(sourceIndex: number, rejected: readonly InvalidFlag[]): void {
    const [first] = rejected;
    if (first === undefined) return;
    this.#log.warn(
      `rejected ${sourceIndex}`,
      {
        source: shownUri(this.#options.sources[sourceIndex]?.uri ?? ""),
        sourceIndex,
        flags: rejected.slice(0, maxLoggedFlags).map(({ key }) => key.slice(0, maxLoggedCharacters)),
        count: rejected.length,
        reason: first.reason.slice(0, 4 * maxLoggedCharacters),
      },
      "flags were rejected; each keeps its previous value, if it had one",
      linesPerMinute,
    );
  }
}

/** Log lines of each kind and source: a source can deliver as often as it likes. */
const linesPerMinute = 6;
/** Keys in one line of the log. */
const maxLoggedFlags = 10;
/** Characters of a key in the log; keys and values may be as long as the document. */
const maxLoggedCharacters = 200;
