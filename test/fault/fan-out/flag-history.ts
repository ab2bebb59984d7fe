import type { buntingSyncV1, FlagDocument, TopicKey } from "@bunting/protocol";
import { encodeDocument } from "@bunting/protocol";
import type { ScriptedVersion } from "../../support/scripted-source.js";
import { HeldFlags } from "../../support/held-flags.js";

/** A version of a FeatureFlag, or its deletion. */
export interface HistoryEntry {
  readonly index: number;
  /** Undefined if this is a deletion. */
  readonly document: FlagDocument | undefined;
  readonly version: Required<Omit<ScriptedVersion, "provider" | "readers" | "trial">>;
  /** Canonical JSON; for a deletion what subscribers of flagd.sync.v1 may be served instead, undefined if nothing. */
  readonly text: string | undefined;
  readonly digest: string;
}

/** All that ever happened to one FeatureFlag, in order: the truth that all proxies are judged by. */
export class TopicHistory {
  readonly entries: HistoryEntry[] = [];
  readonly #deletionText: string | undefined;
  readonly #nextResourceVersion: () => number;
  #uid = 0;

  constructor(deletionText: string | undefined, nextResourceVersion: () => number) {
    this.#deletionText = deletionText;
    this.#nextResourceVersion = nextResourceVersion;
  }

  get last(): HistoryEntry | undefined {
    return this.entries.at(-1);
  }

  /** Edits the FeatureFlag, or creates it. */
  put(document: FlagDocument): void {
    const before = this.last;
    const exists = before?.document !== undefined;
    if (!exists) this.#uid++;
    this.#add(document, {
      uid: `uid-${this.#uid}`,
      generation: exists ? before.version.generation + 1 : 1,
      resourceVersion: String(this.#nextResourceVersion()),
    });
  }

  delete(): void {
    const { last } = this;
    if (last?.document === undefined) return;
    this.#add(undefined, { ...last.version, resourceVersion: String(this.#nextResourceVersion()) });
  }

  /** The entry that a Version of a message stands for. */
  entryOf({ uid, generation, resourceVersion, digest }: buntingSyncV1.Version): HistoryEntry {
    const found = this.entries.find(
      ({ version, document }) => document !== undefined && version.resourceVersion === resourceVersion,
    );
    const { version } = found ?? {};
    if (found === undefined || version?.uid !== uid || String(version.generation) !== generation)
      throw new Error(`there never was a version ${uid} ${generation} ${resourceVersion}`);
    if (found.digest !== digest.toString("hex"))
      throw new Error(`version ${found.index} was told with the digest of another`);
    return found;
  }

  /** Fails unless `texts` came in the order of the history, from `since` on, with whatever was left out. */
  judge(texts: readonly string[], since: number): void {
    let at = since;
    for (const [order, text] of texts.entries()) {
      const found = this.entries.findIndex((entry) => entry.index >= at && entry.text === text);
      if (found < 0) {
        const known = this.entries.filter((entry) => entry.text === text).map(({ index }) => index);
        throw new Error(`document ${order} of a stream is of [${known.join()}], but ${at} or later was due`);
      }
      at = found + 1;
    }
  }

  #add(document: FlagDocument | undefined, version: HistoryEntry["version"]): void {
    this.entries.push({
      index: this.entries.length,
      document,
      version,
      text: document === undefined ? this.#deletionText : encodeDocument(document),
      digest: document === undefined ? "" : HeldFlags.of(document).digest,
    });
  }
}

/** The FeatureFlags of a cluster, with one sequence of resourceVersions for all of them, as in Kubernetes. */
export class FlagHistory {
  readonly topics: ReadonlyMap<TopicKey, TopicHistory>;

  constructor(keys: readonly TopicKey[], deletionText: string | undefined) {
    let resourceVersion = 100;
    const next = (): number => ++resourceVersion;
    this.topics = new Map(keys.map((key) => [key, new TopicHistory(deletionText, next)]));
  }

  of(topic: string): TopicHistory {
    const found = this.topics.get(topic as TopicKey);
    if (found === undefined) throw new Error(`nobody asked for ${topic}`);
    return found;
  }
}
