import { historyHeapBytes, ReplicaDocument, type FlagDocument, type PastVersion } from "@bunting/protocol";
import type { DocumentRoom } from "@bunting/runtime";
import type { Delta, DocumentVersion, History, SnapshotMessage } from "@bunting/sync-client/messages";
import type { LargeDocuments } from "../large-documents.js";
import { heapToRead, messageBytes, PreparedMessage } from "./prepared-message.js";

/** What the documents of all topics share: the heap, and the backlog of large ones. */
export interface DocumentCapacity {
  readonly room: DocumentRoom;
  readonly large: LargeDocuments;
}

/**
 * Reads the documents of one topic as far as the heap, and the backlog of large documents, have room for them. What is
 * read before an answer is taken, its history and a large document, is kept for that answer only.
 */
export class DocumentReader {
  readonly #room: DocumentRoom;
  readonly #large: LargeDocuments;
  #prepared: PreparedMessage | undefined;
  #history: History | undefined;
  /** The heap that the last document needs; set only if it was refused for want of room. */
  #missingHeapBytes: number | undefined;

  constructor({ room, large }: DocumentCapacity) {
    this.#room = room;
    this.#large = large;
  }

  /** The last document was refused because the heap, or the backlog, had no room for it. */
  get isBlocked(): boolean {
    return this.#missingHeapBytes !== undefined;
  }

  /** The heap has room now for the refused document. */
  get hasRoom(): boolean {
    return this.#room.has(this.#missingHeapBytes ?? 0);
  }

  keepHistory(history: History): void {
    this.#history = this.#room.has(historyHeapBytes(history.versions)) ? history : undefined;
  }

  /** The versions before this one, as the upstream reported them. */
  historyOf({ digest }: DocumentVersion): readonly PastVersion[] | undefined {
    return this.#history?.digest.equals(digest) === true ? this.#history.versions : undefined;
  }

  /**
   * Reads a large message in slices of the event loop, before its answer is taken. Undefined if the message is small, or
   * the backlog has no room for it. Never rejects: `snapshot` and `delta` throw the error of a message that can't be read.
   */
  prepare(message: SnapshotMessage | Delta, current: ReplicaDocument | undefined): Promise<void> | undefined {
    const waitingBytes = messageBytes(message);
    const currentBytes = message.kind === "delta" ? (current?.bytes ?? 0) : 0;
    if (!this.#large.isLarge(currentBytes + waitingBytes) || !this.#large.mayWait(waitingBytes))
      return undefined;
    return this.#large
      .read(waitingBytes, async () => {
        this.#prepared = await PreparedMessage.read(message, current, this.#room);
        return this.#prepared?.normalised;
      })
      .catch(() => undefined);
  }

  /** @throws Error if there is no room (then `isBlocked`), or the bytes are no flag document */
  snapshot(message: SnapshotMessage): ReplicaDocument {
    const prepared = this.#prepared?.documentOf(message);
    if (prepared !== undefined) return prepared;
    this.#checkRoom(message, heapToRead(message, undefined), message.document.length);
    return ReplicaDocument.parse(message.document);
  }

  /** @throws Error if there is no room (then `isBlocked`), or a part of the delta is no JSON */
  delta(message: Delta, current: ReplicaDocument): ReplicaDocument {
    this.#checkRoom(message, heapToRead(message, current), current.bytes);
    return this.#prepared?.documentOf(message) ?? current.with(message);
  }

  /** @throws ProtocolError DOCUMENT_INVALID */
  normalised(document: ReplicaDocument): FlagDocument {
    return this.#prepared?.normalisedOf(document) ?? document.normalised();
  }

  /** Another answer comes: it may be for a document that there is room for. */
  unblock(): void {
    this.#missingHeapBytes = undefined;
  }

  /** Forgets what was kept for an answer that has been taken, or does not come any more. */
  dropKept(): void {
    this.#prepared = undefined;
    this.#history = undefined;
  }

  /** @param bytes of the document, as the error names them */
  #checkRoom(message: SnapshotMessage | Delta, neededBytes: number, bytes: number): void {
    const waitingBytes = messageBytes(message);
    const needed = inMegabytes(neededBytes);
    let error: Error | undefined;
    if (!this.#room.has(neededBytes))
      error = new Error(
        `its ${inMegabytes(bytes)} MB need ${needed} MB of heap, of which ${inMegabytes(this.#room.freeBytes)} are free: raise the container's memory limit, or --max-old-space-size of node`,
      );
    else if (this.#large.isLarge(waitingBytes) && !this.#large.mayWait(waitingBytes))
      error = new Error(
        `its ${inMegabytes(waitingBytes)} MB came while others waited to be read: it is asked for again`,
      );
    if (error === undefined) return;
    this.#missingHeapBytes = neededBytes;
    throw error;
  }
}

function inMegabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
