import { plainTopicOf, readManifest } from "@bunting/featureflags/manifests";
import { defaultTextLimits } from "@bunting/files/text";
import { documentHeapBytes, encodeDocument, withRefusedFlags, type TopicKey } from "@bunting/protocol";
import { HeapRoom, systemClock } from "@bunting/runtime";
import { DocumentMerge } from "./document-merge.js";

/** What became of a file. */
export interface TakenManifest {
  /** What can't be served of it, by line; flags that are refused alone are left to the store. */
  readonly problems: readonly string[];
  /** There is not enough memory to read it now. */
  readonly isBlockedByHeap: boolean;
}

export interface ManifestLimits {
  readonly maxJsonBytes: number;
  /** What reading may take of the heap; what is free, if absent. */
  readonly heapBytes?: (() => number) | undefined;
}

/**
 * The FeatureFlags in files, as one document. A FeatureFlag that is no longer valid keeps its last valid version for as long as its file has
 * it. This is the entry of a chunk: agents without manifests don't load it.
 */
export class ManifestSet {
  /** By path: each FeatureFlag as JSON, outside of the heap, where its values could take twenty times as much. */
  readonly #files = new Map<string, ReadonlyMap<TopicKey, Buffer>>();
  readonly #room = new HeapRoom(systemClock);

  /** How many FeatureFlags there are. */
  get size(): number {
    return [...this.#files.values()].reduce((sum, topics) => sum + topics.size, 0);
  }

  async take(
    path: string,
    bytes: Buffer,
    { maxJsonBytes, heapBytes }: ManifestLimits,
  ): Promise<TakenManifest> {
    const limits = { ...defaultTextLimits, maxJsonBytes, ...(heapBytes === undefined ? {} : { heapBytes }) };
    const { flags, errors } = await readManifest(path, bytes, plainTopicOf(path), limits);
    const isBlockedByHeap = errors.some(({ reason }) => reason === "too_large");
    const wholes = errors.filter(({ flag }) => flag === undefined);
    const problems = wholes.map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`);
    if (isBlockedByHeap) return { problems, isBlockedByHeap };
    const next = new Map<TopicKey, Buffer>();
    for (const { topic, document, refused = [] } of flags)
      next.set(topic, Buffer.from(encodeDocument(withRefusedFlags({ document, refused }))));
    const isUnclear = wholes.some(({ topic }) => topic === undefined);
    for (const [topic, document] of this.#files.get(path) ?? []) {
      const isBroken = isUnclear || wholes.some((error) => error.topic === topic);
      if (isBroken && !next.has(topic)) next.set(topic, document);
    }
    this.#files.set(path, next);
    return { problems, isBlockedByHeap };
  }

  forget(path: string): void {
    this.#files.delete(path);
  }

  /** Forgets all files but these. */
  retain(paths: ReadonlySet<string>): void {
    for (const path of this.#files.keys()) if (!paths.has(path)) this.#files.delete(path);
  }

  /**
   * All flags as JSON: of two with one key and flagSetId, that of the file whose path sorts last. Undefined if that were more bytes, or if there is no room on
   * the heap to make it of several FeatureFlags.
   */
  document(maxBytes: number): Buffer | undefined {
    const files = [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1));
    const parts = files.flatMap(([, topics]) => [...topics]);
    const [first, ...more] = parts;
    if (first === undefined) return Buffer.from('{"flags":{}}');
    if (more.length === 0) return first[1];
    const merge = new DocumentMerge(maxBytes);
    for (const [topic, json] of parts)
      if (!this.#room.has(documentHeapBytes(json)) || !merge.add(topic, json)) return undefined;
    return merge.result();
  }
}

/** Why there is no document of the FeatureFlags. */
export const tooLargeTogether = "its FeatureFlags are larger together than this agent has memory for";
