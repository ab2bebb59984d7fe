import { ReplicaDocument, type FlagDocument } from "@bunting/protocol";
import type {
  Delta,
  DocumentVersion,
  MergedDraft,
  ReplicaHolder,
  ReplicaVersion,
  SnapshotMessage,
  VersionOutcome,
} from "@bunting/sync-client/messages";

/** A document of a proxy, as deltas are applied to it and as it is served. */
interface Held extends ReplicaVersion {
  readonly replica: ReplicaDocument;
  readonly document: FlagDocument;
}

/** The newest document of a topic of bunting.sync.v1. It outlives streams. */
export class HeldDocument implements ReplicaHolder<Held> {
  readonly #maxBytes: number;
  readonly #taken: (document: FlagDocument) => void;
  #current: Held | undefined;

  /** @param taken called with each version, and with the same document again if there is none newer */
  constructor(maxBytes: number, taken: (document: FlagDocument) => void) {
    this.#maxBytes = maxBytes;
    this.#taken = taken;
  }

  get current(): Held | undefined {
    return this.#current;
  }

  confirm(current: Held, version: DocumentVersion): VersionOutcome {
    return this.#take({ ...current, version });
  }

  replace({ document, version }: SnapshotMessage): VersionOutcome {
    try {
      return this.#read(ReplicaDocument.parse(document), version);
    } catch {
      return { refusal: "it is no flag document" };
    }
  }

  merge({ replica }: Held, delta: Delta): MergedDraft | VersionOutcome {
    try {
      const next = replica.with(delta);
      // An upper bound: the whole document, which is sent then, may be smaller.
      if (next.bytes > this.#maxBytes) return { mismatch: "with the delta the document may be too large" };
      return { digest: next.digest(), take: () => this.#read(next, delta.version) };
    } catch {
      return { mismatch: "the delta is no JSON" };
    }
  }

  #read(replica: ReplicaDocument, version: DocumentVersion): VersionOutcome {
    try {
      return this.#take({ replica, version, document: replica.normalised() });
    } catch (error) {
      return { refusal: (error as Error).message };
    }
  }

  #take(held: Held): VersionOutcome {
    this.#current = held;
    this.#taken(held.document);
    return { rejectedFlags: [] };
  }
}
