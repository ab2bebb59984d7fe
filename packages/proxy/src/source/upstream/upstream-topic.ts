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
  type Unchanged,
} from "@bunting/sync-client/messages";
import { cut, cutToBytes, singleLine, type Clock } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { SourceSink, SourceVersion } from "../flag-source.js";
import type { HeapRoom } from "../heap-room.js";
import type { LargeDocuments } from "../large-documents.js";
import { changeHeapBytes, messageBytes, PreparedMessage } from "./prepared-message.js";
import { ReplicaDocument } from "./replica-document.js";
import { codeOfCause, codeOfStatus, type SourceErrorCode } from "./source-error-code.js";
import type { TopicMessage } from "./topic-message.js";
import { latestResourceVersion, versionFields } from "./version-fields.js";

/** Limit of a nack's reason, as upstreams enforce it. */
const maxReasonBytes = 1_024;

/** A status code of gRPC. */
const notFound = 5;

/** Limit of mismatches in a row. An upstream answers each with the whole document, so more than two mean that it is faulty. */
const mostMismatches = 3;

/**
 * One topic of an upstream. It outlives connections: each new one resumes from `#current`.
 *
 * Invariants:
 * - `#current` is the last document that the sink accepted, with its version; undefined if there is none.
 * - `#isReported` is true if the sink's last report is `#current`; false after `missing` or `deleted`.
 * - `#reportAgain` repeats the last report, which ends staleness.
 * - `#refused` is the reason why the newest message was not reported; `#upstreamIsStale` is the upstream's own reason
 *   why it can't follow the topic. While either is set, the sink is stale.
 * - `#missingHeapBytes` is set if a document was refused only for want of room: UpstreamLink asks for it again.
 * - `#prepared` and `#history` belong to the next answer, and are dropped with it.
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
  #isReported = false;
  #reportAgain: (() => void) | undefined;
  #upstreamIsStale: Error | undefined;
  #refused: Error | undefined;
  #missingHeapBytes: number | undefined;
  /** Deltas and confirmations in a row that did not fit `#current`. To try a delta costs as much as the whole document. */
  #mismatches = 0;
  #history: History | undefined;
  /** Called after each answer. */
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

  /** The stream has brought neither an answer nor a reason for staleness. */
  get isUnexplained(): boolean {
    return !this.#isAnswered && this.#upstreamIsStale === undefined;
  }

  /** Why the upstream refuses the topic, or this proxy the document; undefined if the last answer was taken. */
  get refusal(): string | undefined {
    return this.#refused?.message;
  }

  /** The last document was refused because the heap, or the backlog of large documents, had no room for it. */
  get isBlockedByHeap(): boolean {
    return this.#missingHeapBytes !== undefined;
  }

  /** The heap has room now for the refused document. */
  get hasRoom(): boolean {
    return this.#room.has(this.#missingHeapBytes ?? 0);
  }

  /** The upstream keeps sending deltas that do not fit. */
  get isMismatched(): boolean {
    return this.#mismatches > mostMismatches;
  }

  /** The digest of `#current`. */
  get digest(): Buffer | undefined {
    return this.#current?.version.digest;
  }

  subscribeMessage(): Buffer {
    return encodeSubscribe(this.name, this.#current?.version);
  }

  /**
   * Subscribes with the current digest and the highest possible version: the upstream then reads the topic before it
   * answers, if versions of it can be compared.
   */
  refreshMessage(): Buffer {
    const uid = (this.#current && versionFields(this.#current.version).uid) ?? "refresh";
    const version = {
      uid,
      generation: "0",
      resourceVersion: latestResourceVersion,
      digest: this.digest ?? Buffer.alloc(0),
    };
    const encoded = Buffer.from(buntingSyncV1.Version.encode(version).finish());
    return encodeSubscribe(this.name, { digest: version.digest, encoded });
  }

  /** Takes the answer to `refreshMessage`, a version read just now: it confirms the current document if the digests agree. */
  refreshed(version: DocumentVersion): void {
    if (this.#isReported && this.digest?.equals(version.digest) === true) this.#confirm(version);
  }

  /** Calls back after each answer. Returns a function that ends this. */
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
   * Reads a large message in slices of the event loop, before `take`. Undefined if the message is small, or the backlog has
   * no room for it. Never rejects: `take` refuses a message that can't be read.
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
   * Reports a message to the sink. Returns the ack or nack, if the message needs one.
   *
   * @param number of the message in its stream
   */
  take(message: TopicMessage, number: number): Buffer | undefined {
    if (message.kind === "history") {
      this.#history = this.#room.has(historyHeapBytes(message.versions)) ? message : undefined;
      return undefined;
    }
    if (message.kind === "freshness") {
      this.#upstreamIsStale = message.isStale
        ? unreadable(message.reason, codeOfCause(message.cause))
        : undefined;
      // While the newest version is refused, the topic stays stale even if the upstream is not.
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
        else
          this.#refuse(`the upstream refuses ${this.name}: ${message.message}`, codeOfStatus(message.code));
        return undefined;
    }
  }

  #refuse(refusal: string, code: SourceErrorCode): void {
    this.#refused = unreadable(refusal, code);
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

  /** The reported document has this version. */
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
    // The message of a parse error may contain a part of the document.
    const reason = singleLine(cut(cause instanceof Error ? cause.message : String(cause)));
    const message = `the document that the upstream sends of ${this.name} is refused: ${reason}`;
    this.#refused = new ProxyError("DOCUMENT_INVALID", message, { cause });
    // An unread stack keeps its frames alive, and so the message: 15 MB per refused topic. Reading it frees them.
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

  /** A large message came while the backlog of large documents was full. */
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

  /** The versions before this one, as the upstream reported them. */
  #historyOf({ digest }: DocumentVersion): readonly PastVersion[] | undefined {
    return this.#history?.digest.equals(digest) === true ? this.#history.versions : undefined;
  }

  #mismatch(number: number, reason: string): Buffer {
    this.#mismatches++;
    return this.#nack(number, reason, true);
  }

  #nack(number: number, reason: string, isDeltaMismatch: boolean): Buffer {
    if (!isDeltaMismatch) this.#mismatches = 0;
    const nack = { currentDigest: this.digest, reason: cutToBytes(reason, maxReasonBytes), isDeltaMismatch };
    return encodeNack({ topic: this.name, number }, nack);
  }

  #sourceVersion(version: DocumentVersion): SourceVersion {
    return { noticedMs: this.#clock.monotonicMs(), ...versionFields(version) };
  }
}

/** Those that have a document first: to them the answer is short, and clients wait for what has changed since. */
export function resumableFirst(topics: Iterable<UpstreamTopic>): readonly UpstreamTopic[] {
  const all = [...topics];
  return [
    ...all.filter(({ digest }) => digest !== undefined),
    ...all.filter(({ digest }) => digest === undefined),
  ];
}

function inMegabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

/** @param message contains a text of the upstream: it is cut, and made one line */
function unreadable(message: string, code: SourceErrorCode): ProxyError {
  return new ProxyError(code, singleLine(cut(message)));
}
