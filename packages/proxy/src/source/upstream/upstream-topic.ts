import { maxManifestBytes } from "@bunting/featureflags/manifests";
import { buntingSyncV1, documentHeapBytes, historyHeapBytes, type PastVersion } from "@bunting/protocol";
import {
  encodeAck,
  encodeNack,
  encodeSubscribe,
  type Delta,
  type DocumentVersion,
  type History,
  type SnapshotMessage,
  type SyncResponse,
  type Unchanged,
} from "@bunting/sync-client/messages";
import { cut, cutToBytes, singleLine, type Clock } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { SourceSink, SourceVersion } from "../flag-source.js";
import type { HeapRoom } from "../heap-room.js";
import type { LargeDocuments } from "../large-documents.js";
import { changeHeapBytes, messageBytes, PreparedMessage } from "./prepared-message.js";
import { ReplicaDocument } from "./replica-document.js";

/** Of a nack: the most that the upstream takes. */
const maxReasonBytes = 1_024;

/** A status code of gRPC. */
const notFound = 5;

/** In a row. An upstream answers a mismatch with the whole document, so more than one or two say that it does not work as it should. */
const mostMismatches = 3;

/** A message about one topic. */
export type TopicMessage = Exclude<SyncResponse, { readonly kind: "tier" | "heartbeat" | "unknown" }>;

export function isOfTopic(message: SyncResponse): message is TopicMessage {
  return "topic" in message;
}

/** It says what the topic is, or that this can't be known. A history belongs to what comes after it. */
export function isAnswer(message: SyncResponse): message is Exclude<TopicMessage, History> {
  return isOfTopic(message) && message.kind !== "history";
}

/**
 * One topic of an upstream: what this proxy holds of it, and what its sink was told last. It outlives connections: each new one resumes from
 * what is current.
 */
export class UpstreamTopic {
  /** As the upstream names it. */
  readonly name: string;
  #isAnswered = false;
  readonly #sink: SourceSink;
  readonly #clock: Clock;
  readonly #room: Pick<HeapRoom, "has" | "freeBytes">;
  readonly #large: LargeDocuments;
  #prepared: PreparedMessage | undefined;
  #current: { readonly document: ReplicaDocument; readonly version: DocumentVersion } | undefined;
  /** Whether what was told last is the document that is current. */
  #isReported = false;
  /** Tells the sink once more what it was told last, which ends its staleness. */
  #reportAgain: (() => void) | undefined;
  /** Why the upstream itself can't follow the topic. */
  #upstreamIsStale: Error | undefined;
  /** Why the newest that the upstream has said is not told. */
  #refused: Error | undefined;
  #missingHeapBytes: number | undefined;
  /** Deltas and confirmations in a row that did not fit what is current. Each delta costs as much as the document has bytes. */
  #mismatches = 0;
  /** Waits for the version that it leads to. */
  #history: History | undefined;
  /** Called after each message that says what the topic is. */
  readonly #awaiting = new Set<() => void>();

  constructor(
    name: string,
    sink: SourceSink,
    clock: Clock,
    room: Pick<HeapRoom, "has" | "freeBytes">,
    large: LargeDocuments,
  ) {
    this.name = name;
    this.#sink = sink;
    this.#clock = clock;
    this.#room = room;
    this.#large = large;
  }

  /** The current stream has neither said what the topic is, nor why it can't. */
  get isUnexplained(): boolean {
    return !this.#isAnswered && this.#upstreamIsStale === undefined;
  }

  /** Why the upstream does not serve the topic, or what it sends can't be served, if its last message said that. */
  get refusal(): string | undefined {
    return this.#refused?.message;
  }

  /** The last document was refused because the heap had no room for it. */
  get isBlockedByHeap(): boolean {
    return this.#missingHeapBytes !== undefined;
  }

  /** There is room now for what was refused. */
  get hasRoom(): boolean {
    return this.#room.has(this.#missingHeapBytes ?? 0);
  }

  /** The upstream goes on with deltas although they don't fit. */
  get isMismatched(): boolean {
    return this.#mismatches > mostMismatches;
  }

  /** The digest of what is current. */
  get digest(): Buffer | undefined {
    return this.#current?.version.digest;
  }

  subscribeMessage(): Buffer {
    return encodeSubscribe(this.name, this.#current?.version);
  }

  /**
   * Subscribes as one that holds this document in a later version than any: the upstream then reads the topic before it answers, if versions
   * of it can be compared.
   */
  refreshMessage(): Buffer {
    const uid = (this.#current && fieldsOf(this.#current.version).uid) ?? "refresh";
    const version = { uid, generation: "0", resourceVersion: latest, digest: this.digest ?? Buffer.alloc(0) };
    const encoded = Buffer.from(buntingSyncV1.Version.encode(version).finish());
    return encodeSubscribe(this.name, { digest: version.digest, encoded });
  }

  /** The answer of a stream that was subscribed to by `refreshMessage`: a version that the topic has at this time, if it has not changed since. */
  refreshed(version: DocumentVersion): void {
    if (this.#isReported && this.digest?.equals(version.digest) === true) this.#confirm(version);
  }

  /** Calls back after each message that says what the topic is. Returns how to end that. */
  onAnswer(listener: () => void): () => void {
    this.#awaiting.add(listener);
    return () => void this.#awaiting.delete(listener);
  }

  /** The stream has ended. */
  lost(): void {
    this.#prepared = undefined;
    this.#isAnswered = false;
    this.#history = undefined;
    this.#mismatches = 0;
    this.#missingHeapBytes = undefined;
    this.#upstreamIsStale = undefined;
  }

  stale(reason: Error): void {
    this.#sink.stale(reason);
  }

  /**
   * Does in turns of the event loop what `take` would do at once with this message, if that would take long. Undefined if not. Never rejects:
   * what can't be read is for `take` to refuse.
   */
  prepare(message: TopicMessage): Promise<void> | undefined {
    if (message.kind !== "snapshot" && message.kind !== "delta") return undefined;
    const waitingBytes = messageBytes(message);
    const currentBytes = message.kind === "delta" ? (this.#current?.document.bytes ?? 0) : 0;
    if (!this.#large.isLarge(currentBytes + waitingBytes) || !this.#large.mayWait(waitingBytes))
      return undefined;
    return this.#large
      .read(waitingBytes, async () => {
        this.#prepared = await PreparedMessage.read(message, this.#current?.document, this.#room);
        return this.#prepared?.normalised;
      })
      .catch(() => undefined);
  }

  /**
   * Tells the sink what a message says. Returns the answer to it, if it needs one.
   *
   * @param number its place among the messages of the stream
   */
  take(message: TopicMessage, number: number): Buffer | undefined {
    if (message.kind === "history") {
      this.#history = this.#room.has(historyHeapBytes(message.versions)) ? message : undefined;
      return undefined;
    }
    if (message.kind === "freshness") {
      this.#upstreamIsStale = message.isStale ? unreadable(message.reason) : undefined;
      // What is held is not the newest while that is refused, however sure the upstream is of it.
      const reason = this.#upstreamIsStale ?? this.#refused;
      if (reason !== undefined) this.#sink.stale(reason);
      else this.#reportAgain?.();
      return undefined;
    }
    this.#isAnswered = true;
    this.#refused = undefined;
    this.#missingHeapBytes = undefined;
    const answer = this.#apply(message, number);
    this.#history = undefined;
    this.#prepared = undefined;
    if (this.#upstreamIsStale !== undefined) this.#sink.stale(this.#upstreamIsStale);
    for (const listener of [...this.#awaiting]) listener();
    return answer;
  }

  #apply(
    message: Exclude<TopicMessage, { readonly kind: "freshness" | "history" }>,
    number: number,
  ): Buffer | undefined {
    switch (message.kind) {
      case "unchanged":
        return this.#unchanged(message, number);
      case "snapshot":
        return this.#replace(() => this.#read(message), message, number);
      case "delta":
        return this.#change(message, number);
      case "missing":
        this.#report(() => this.#sink.missing());
        return undefined;
      case "deleted":
        if (message.policy === "empty") this.#current = undefined;
        this.#report(() => this.#sink.deleted(message.policy));
        return undefined;
      case "topic_error":
        if (message.code === notFound) this.#report(() => this.#sink.missing());
        else this.#refuse(`the upstream refuses ${this.name}: ${message.message}`);
        return undefined;
    }
  }

  #refuse(refusal: string): void {
    this.#refused = unreadable(refusal);
    this.#upstreamIsStale = undefined;
    this.#sink.stale(this.#refused);
  }

  #report(report: () => void): void {
    this.#isReported = false;
    this.#reportAgain = report;
    report();
  }

  #unchanged({ version }: Unchanged, number: number): Buffer {
    const current = this.#current;
    if (current?.version.digest.equals(version.digest) !== true)
      return this.#mismatch(number, "this version is not held");
    if (this.#isReported) this.#confirm(version);
    else this.#serve(current.document, version);
    return encodeAck({ topic: this.name, number }, version.digest, []);
  }

  /** The document is the one that was told, at this version. */
  #confirm(version: DocumentVersion): void {
    if (this.#current !== undefined) this.#current = { ...this.#current, version };
    this.#reportAgain = () => this.#sink.sameDocument(this.#sourceVersion(version));
    this.#reportAgain();
  }

  #change(delta: Delta, number: number): Buffer {
    const current = this.#current;
    if (current?.version.digest.equals(delta.fromDigest) !== true)
      return this.#mismatch(number, "the version that the delta starts from is not held");
    let document: ReplicaDocument;
    let digest: Buffer;
    try {
      const needed = changeHeapBytes(current.document, delta);
      if (!this.#room.has(needed))
        return this.#refuseDocument(this.#heapError(current.document.bytes, needed), number);
      if (this.#isBlockedByBacklog(messageBytes(delta)))
        return this.#refuseDocument(this.#backlogError(messageBytes(delta), needed), number);
      document = this.#prepared?.documentOf(delta) ?? current.document.with(delta);
      digest = document.digest();
    } catch {
      return this.#mismatch(number, "the delta is no JSON, or nested too deeply");
    }
    if (!digest.equals(delta.version.digest))
      return this.#mismatch(number, "the delta led to another digest");
    if (document.bytes > maxManifestBytes)
      return this.#mismatch(number, "with the deltas so far it may be larger than a document may be");
    return this.#replace(() => document, delta, number);
  }

  #read(message: SnapshotMessage): ReplicaDocument {
    const prepared = this.#prepared?.documentOf(message);
    if (prepared !== undefined) return prepared;
    const { document } = message;
    const needed = documentHeapBytes(document);
    if (!this.#room.has(needed)) throw this.#heapError(document.length, needed);
    if (this.#isBlockedByBacklog(document.length)) throw this.#backlogError(document.length, needed);
    return ReplicaDocument.parse(document);
  }

  #replace(read: () => ReplicaDocument, { version }: SnapshotMessage | Delta, number: number): Buffer {
    try {
      this.#serve(read(), version);
    } catch (cause) {
      return this.#refuseDocument(cause, number);
    }
    return encodeAck({ topic: this.name, number }, version.digest, []);
  }

  #refuseDocument(cause: unknown, number: number): Buffer {
    // A part of the document may be in it.
    const reason = singleLine(cut(cause instanceof Error ? cause.message : String(cause)));
    const message = `the document that the upstream sends of ${this.name} is refused: ${reason}`;
    this.#refused = new ProxyError("DOCUMENT_INVALID", message, { cause });
    // Until it is written, a stack holds what it was made in, and so the message: 15 MB for each topic as long as it is refused.
    for (const error of [cause, this.#refused]) if (error instanceof Error) String(error.stack);
    this.#sink.stale(this.#refused);
    return this.#nack(number, reason, false);
  }

  /**
   * @param bytes of the document
   * @param needed bytes of the heap
   */
  #heapError(bytes: number, needed: number): Error {
    this.#missingHeapBytes = needed;
    const free = inMegabytes(this.#room.freeBytes);
    return new Error(
      `its ${inMegabytes(bytes)} MB need ${inMegabytes(needed)} MB of heap, of which ${free} are free: raise the container's memory limit, or --max-old-space-size of node`,
    );
  }

  /** A message came that was too large to wait beside others. */
  #isBlockedByBacklog(bytes: number): boolean {
    return this.#large.isLarge(bytes) && !this.#large.mayWait(bytes);
  }

  #backlogError(bytes: number, needed: number): Error {
    this.#missingHeapBytes = needed;
    return new Error(
      `its ${inMegabytes(bytes)} MB came while others waited to be read: it is asked for again`,
    );
  }

  #serve(document: ReplicaDocument, version: DocumentVersion): void {
    const normalised = this.#prepared?.normalisedOf(document) ?? document.normalised();
    this.#sink.document(normalised, this.#sourceVersion(version), this.#historyOf(version));
    this.#current = { document, version };
    this.#isReported = true;
    this.#mismatches = 0;
    this.#reportAgain = () => this.#sink.sameDocument(this.#sourceVersion(version));
  }

  /** What the upstream said of the versions before this one. */
  #historyOf({ digest }: DocumentVersion): readonly PastVersion[] | undefined {
    return this.#history?.digest.equals(digest) === true ? this.#history.versions : undefined;
  }

  #mismatch(number: number, reason: string): Buffer {
    this.#mismatches++;
    return this.#nack(number, reason, true);
  }

  #nack(number: number, reason: string, isDeltaMismatch: boolean): Buffer {
    if (!isDeltaMismatch) this.#mismatches = 0;
    const nack = { heldDigest: this.digest, reason: cutToBytes(reason, maxReasonBytes), isDeltaMismatch };
    return encodeNack({ topic: this.name, number }, nack);
  }

  #sourceVersion(version: DocumentVersion): SourceVersion {
    return { noticedMs: this.#clock.monotonicMs(), ...fieldsOf(version) };
  }
}

function inMegabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

/** As a resourceVersion: no object gets that far. */
const latest = String(2n ** 64n - 1n);

function fieldsOf({ encoded }: DocumentVersion): Omit<SourceVersion, "noticedMs"> {
  const { uid, generation, resourceVersion } = buntingSyncV1.Version.decode(encoded);
  return {
    ...(uid === "" ? {} : { uid }),
    ...(generation === "0" ? {} : { generation: Number(generation) }),
    ...(resourceVersion === "" ? {} : { resourceVersion }),
  };
}

/** @param message has a text of the upstream in it */
function unreadable(message: string): ProxyError {
  return new ProxyError("SOURCE_UNREADABLE", singleLine(cut(message)));
}
