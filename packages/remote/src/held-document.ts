import {
  documentHeapBytes,
  emptiedBy,
  maxDocumentDepth,
  ReplicaDocument,
  type RefusedFlag,
} from "@bunting/protocol";
import { runInSlices } from "@bunting/runtime";
import type {
  Delta,
  DocumentVersion,
  MergedDraft,
  ReplicaHolder,
  ReplicaVersion,
  SnapshotMessage,
  VersionOutcome,
} from "@bunting/sync-client/messages";
import { leftOut, requireRoom, type TextBounds } from "./read-flag-text.js";
import type { RemoteFlags } from "./remote-kind.js";

/** A document of a proxy, as deltas are applied to it and as it is served. */
interface Held extends ReplicaVersion {
  readonly replica: ReplicaDocument;
  readonly flags: RemoteFlags;
}

/** What a message leads to. */
type Prepared =
  | { readonly replica: ReplicaDocument; readonly flags: RemoteFlags }
  | { readonly refusal: string }
  | { readonly mismatch: string };

/** The newest document of a topic of bunting.sync.v1. It outlives streams. */
export class HeldDocument implements ReplicaHolder<Held> {
  readonly #bounds: TextBounds;
  readonly #taken: (flags: RemoteFlags) => void;
  #current: Held | undefined;
  #prepared: { readonly message: SnapshotMessage | Delta; readonly result: Prepared } | undefined;

  /** @param taken called with each version, and with the same flags again if there is none newer */
  constructor(bounds: TextBounds, taken: (flags: RemoteFlags) => void) {
    this.#bounds = bounds;
    this.#taken = taken;
  }

  get current(): Held | undefined {
    return this.#current;
  }

  /** Reads a message in slices of the event loop, before it is taken. Never rejects: taking it says what is wrong with it. */
  async prepare(message: SnapshotMessage | Delta): Promise<void> {
    const read = message.kind === "snapshot" ? this.#parse(message) : this.#merged(message);
    const result = await read.catch((error: unknown): Prepared => ({ refusal: (error as Error).message }));
    this.#prepared = { message, result };
  }

  confirm(current: Held, version: DocumentVersion): VersionOutcome {
    return this.#take({ ...current, version });
  }

  replace(message: SnapshotMessage): VersionOutcome {
    const read = this.#resultOf(message);
    return "replica" in read ? this.#take({ ...read, version: message.version }) : read;
  }

  merge(_current: Held, delta: Delta): MergedDraft | VersionOutcome {
    const read = this.#resultOf(delta);
    if (!("replica" in read)) return read;
    return {
      digest: read.replica.digest(),
      take: () => this.#take({ ...read, version: delta.version }),
    };
  }

  #resultOf(message: SnapshotMessage | Delta): Prepared {
    const prepared = this.#prepared;
    this.#prepared = undefined;
    return prepared?.message === message ? prepared.result : { mismatch: "it was not read" };
  }

  async #parse({ document }: SnapshotMessage): Promise<Prepared> {
    requireRoom(document, this.#bounds);
    const replica = await runInSlices(ReplicaDocument.parsing(document)).catch(() => undefined);
    return replica === undefined ? { refusal: "it is no flag document" } : this.#served(replica);
  }

  async #merged(delta: Delta): Promise<Prepared> {
    const { current } = this;
    if (current?.version.digest.equals(delta.fromDigest) !== true)
      return { mismatch: "the version that the delta starts from is not held" };
    const heapBytes = delta.flags.reduce(
      (sum, { flag }) => sum + documentHeapBytes(flag, maxDocumentDepth + 1),
      0,
    );
    if (!this.#bounds.room.has(heapBytes)) return { refusal: "there is no heap for the delta" };
    let replica: ReplicaDocument;
    try {
      replica = current.replica.with(delta);
    } catch {
      return { mismatch: "the delta is no JSON" };
    }
    // An upper bound: the whole document, which is sent then, may be smaller.
    if (replica.bytes > this.#bounds.bytes)
      return { mismatch: "with the delta the document may be too large" };
    await runInSlices(replica.digesting());
    return this.#served(replica);
  }

  /** A flag that can't be served is left out, as of other remotes. */
  async #served(replica: ReplicaDocument): Promise<Prepared> {
    const refused: RefusedFlag[] = [];
    const document = await runInSlices(replica.normalising((flag) => refused.push(flag)));
    const emptied = emptiedBy({ document, warnings: [], refused });
    if (emptied !== undefined) return { refusal: emptied.message };
    return { replica, flags: { document, leftOut: leftOut(refused) } };
  }

  #take(held: Held): VersionOutcome {
    this.#current = held;
    this.#taken(held.flags);
    return { rejectedFlags: [] };
  }
}
