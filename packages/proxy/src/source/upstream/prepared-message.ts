import {
  documentHeapBytes,
  heapWeights,
  maxDocumentDepth,
  ReplicaDocument,
  type FlagDocument,
} from "@bunting/protocol";
import type { Delta, SnapshotMessage } from "@bunting/sync-client/messages";
import { runInSlices, type DocumentRoom } from "@bunting/runtime";

/** A value, or why there is none: what was done before its result is asked for. */
type Outcome<Value> = { readonly value: Value } | { readonly cause: unknown };

/** A message that was read in slices of the event loop before it is taken; or the error by which that failed. */
export class PreparedMessage {
  readonly #message: SnapshotMessage | Delta;
  readonly #document: Outcome<ReplicaDocument>;
  readonly #normalised: Outcome<FlagDocument> | undefined;

  private constructor(
    message: SnapshotMessage | Delta,
    document: Outcome<ReplicaDocument>,
    normalised: Outcome<FlagDocument> | undefined,
  ) {
    this.#message = message;
    this.#document = document;
    this.#normalised = normalised;
  }

  /**
   * Undefined if the heap has no room, or a delta does not start from `current`: `take` then refuses the raw message.
   *
   * @param current the document that deltas start from
   */
  static async read(
    message: SnapshotMessage | Delta,
    current: ReplicaDocument | undefined,
    room: Pick<DocumentRoom, "has">,
  ): Promise<PreparedMessage | undefined> {
    if (message.kind === "delta" && current?.digest().equals(message.fromDigest) !== true) return undefined;
    const document = await outcomeOf(readDocument(message, current, room));
    if ("value" in document && document.value === undefined) return undefined;
    const read = document as Outcome<ReplicaDocument>;
    const normalised = "value" in read ? await outcomeOf(runInSlices(read.value.normalising())) : undefined;
    return new PreparedMessage(message, read, normalised);
  }

  /** The resulting document in the form that is served; undefined if the message can't be read. */
  get normalised(): FlagDocument | undefined {
    return this.#normalised !== undefined && "value" in this.#normalised ? this.#normalised.value : undefined;
  }

  /** @throws the error by which reading it failed */
  documentOf(message: SnapshotMessage | Delta): ReplicaDocument | undefined {
    return message === this.#message ? valueOf(this.#document) : undefined;
  }

  /** @throws ProtocolError DOCUMENT_INVALID */
  normalisedOf(document: ReplicaDocument): FlagDocument | undefined {
    const isOfIt = "value" in this.#document && this.#document.value === document;
    return isOfIt && this.#normalised !== undefined ? valueOf(this.#normalised) : undefined;
  }
}

/** Heap needed to read a message. A delta encodes the whole document again, but only its changed parts are parsed. */
export function heapToRead(message: SnapshotMessage | Delta, current: ReplicaDocument | undefined): number {
  if (message.kind === "snapshot") return documentHeapBytes(message.document);
  const { flags, metadata, evaluators } = message;
  const changes = [...flags.map(({ flag }) => flag), metadata, evaluators];
  return changes.reduce<number>(
    (sum, change) => sum + (change === undefined ? 0 : documentHeapBytes(change, maxDocumentDepth + 1)),
    (current?.bytes ?? 0) * heapWeights.encoding.heldByte + flags.length * heapWeights.encoding.flag,
  );
}

/** Size of a message in the backlog, keys not counted. */
export function messageBytes(message: SnapshotMessage | Delta): number {
  if (message.kind === "snapshot") return message.document.length;
  const { flags, metadata, evaluators } = message;
  return flags.reduce(
    (sum, { flag }) => sum + flag.length,
    (metadata?.length ?? 0) + (evaluators?.length ?? 0),
  );
}

/** Undefined if the heap has no room. */
async function readDocument(
  message: SnapshotMessage | Delta,
  current: ReplicaDocument | undefined,
  room: Pick<DocumentRoom, "has">,
): Promise<ReplicaDocument | undefined> {
  if (!room.has(heapToRead(message, current))) return undefined;
  if (message.kind === "snapshot") return runInSlices(ReplicaDocument.parsing(message.document));
  const document = current?.with(message);
  if (document !== undefined) await runInSlices(document.digesting());
  return document;
}

async function outcomeOf<Value>(promise: Promise<Value>): Promise<Outcome<Value>> {
  return promise.then(
    (value) => ({ value }),
    (cause: unknown) => ({ cause }),
  );
}

/** @throws why there is no value */
function valueOf<Value>(outcome: Outcome<Value>): Value {
  if ("value" in outcome) return outcome.value;
  throw outcome.cause;
}
