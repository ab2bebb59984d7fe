import { maxManifestBytes } from "@bunting/featureflags/manifests";
import { buntingSyncV1, documentHeapBytes, type ReplicaDocument } from "@bunting/protocol";
import {
  encodeSubscribe,
  TopicReplica,
  versionFields,
  type Delta,
  type DocumentVersion,
  type MergedDraft,
  type ReplicaHolder,
  type SnapshotMessage,
  type VersionMessage,
  type VersionOutcome,
} from "@bunting/sync-client/messages";
import { cut, messageOf, releaseFrames, singleLine, type Clock } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { SourceSink } from "../flag-source.js";
import { DocumentReader, type DocumentCapacity } from "./document-reader.js";
import { encodeTrialReport, readTrial } from "./trial-messages.js";
import { codeOfCause, codeOfStatus, type SourceErrorCode } from "./source-error-code.js";
import type { TopicMessage } from "./topic-message.js";
import { TopicReports } from "./topic-reports.js";

/** A status code of gRPC. */
const notFound = 5;

/** A resourceVersion later than that of any object. */
const latestResourceVersion = String(2n ** 64n - 1n);

/** Limit of mismatches in a row. An upstream answers each with the whole document, so more than two mean that it is faulty. */
const mostMismatches = 3;

/** A document that the sink has accepted. */
interface AcceptedDocument {
  readonly document: ReplicaDocument;
  readonly version: DocumentVersion;
}

/**
 * One topic of an upstream. It outlives connections: each new one resumes from `current`. What the topic is goes to
 * `#reports`; what documents need before they can be read is with `#reader`.
 */
export class UpstreamTopic implements ReplicaHolder<AcceptedDocument> {
  /** As the upstream names it. */
  readonly name: string;
  readonly #replica: TopicReplica<AcceptedDocument>;
  readonly #reports: TopicReports;
  readonly #reader: DocumentReader;
  readonly #sink: SourceSink;
  readonly #room: DocumentCapacity["room"];
  #isAnswered = false;
  #current: AcceptedDocument | undefined;
  /** Deltas and confirmations in a row that did not fit `#current`. To try a delta costs as much as the whole document. */
  #mismatches = 0;
  /** The heap that the version to try needs, where there was no room for it; else 0. */
  #trialHeapBytes = 0;
  /** Called after each answer. */
  readonly #awaiting = new Set<() => void>();

  constructor(name: string, sink: SourceSink, clock: Clock, documents: DocumentCapacity) {
    this.name = name;
    this.#replica = new TopicReplica(name, this);
    this.#reports = new TopicReports(sink, clock);
    this.#reader = new DocumentReader(documents);
    this.#sink = sink;
    this.#room = documents.room;
  }

  /** The stream has brought neither an answer nor a reason for staleness. */
  get isUnexplained(): boolean {
    return !this.#isAnswered && !this.#reports.isUpstreamStale;
  }

  /** Why the upstream refuses the topic, or this proxy the document; undefined if the last answer was taken. */
  get refusal(): string | undefined {
    return this.#reports.refused?.message;
  }

  /** The last document, or the version to try, was refused for want of room only: UpstreamLink asks for it again. */
  get isBlockedByHeap(): boolean {
    return this.#reader.isBlocked || this.#trialHeapBytes > 0;
  }

  /** The heap has room now for what was refused. */
  get hasRoom(): boolean {
    return this.#reader.hasRoom && this.#room.has(this.#trialHeapBytes);
  }

  /** The upstream keeps sending deltas that do not fit. */
  get isMismatched(): boolean {
    return this.#mismatches > mostMismatches;
  }

  /** The last document that the sink accepted, also while the topic is missing or deleted; undefined if there is none. */
  get current(): AcceptedDocument | undefined {
    return this.#current;
  }

  get digest(): Buffer | undefined {
    return this.#current?.version.digest;
  }

  subscribeMessage(): Buffer {
    const { trial } = this.#reports;
    const trialDigest = trial === undefined ? undefined : Buffer.from(trial.digest, "hex");
    return encodeSubscribe(this.name, this.#current?.version, trialDigest);
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

  /** The upstream has agents try a version. */
  get isTried(): boolean {
    return this.#reports.trial !== undefined;
  }

  /** How that version fares here; undefined while that is not known. */
  trialReport(): Buffer | undefined {
    const counts = this.#sink.trialCounts?.();
    return counts === undefined ? undefined : encodeTrialReport(this.name, counts);
  }

  /** Takes the answer to `refreshMessage`, a version read just now: it confirms the current document if the digests agree. */
  refreshed(version: DocumentVersion): void {
    const current = this.#current;
    if (this.#reports.isDocument && current?.version.digest.equals(version.digest) === true)
      this.confirm(current, version);
  }

  /** Calls back after each answer. Returns a function that ends this. */
  onAnswer(listener: () => void): () => void {
    this.#awaiting.add(listener);
    return () => void this.#awaiting.delete(listener);
  }

  /** The stream has ended. */
  lost(): void {
    this.#isAnswered = false;
    this.#mismatches = 0;
    this.#reader.dropKept();
    this.#reader.unblock();
    this.#trialHeapBytes = 0;
    this.#reports.forgetUpstreamStale();
  }

  stale(reason: Error): void {
    this.#reports.stale(reason);
  }

  /** Reads a large message before `take`; see DocumentReader. */
  prepare(message: TopicMessage): Promise<void> | undefined {
    return message.kind === "snapshot" || message.kind === "delta"
      ? this.#reader.prepare(message, this.#current?.document)
      : undefined;
  }

  /**
   * Reports a message to the sink. Returns the ack or nack, if the message needs one.
   *
   * @param number of the message in its stream
   */
  take(message: TopicMessage, number: number): Buffer | undefined {
    if (message.kind === "history") {
      this.#reader.keepHistory(message);
      return undefined;
    }
    if (message.kind === "trial") {
      const heapBytes = documentHeapBytes(message.document);
      this.#trialHeapBytes = this.#room.has(heapBytes) ? 0 : heapBytes;
      this.#reports.tried(this.#trialHeapBytes === 0 ? readTrial(message) : undefined);
      return undefined;
    }
    if (message.kind === "freshness") {
      const { isStale, reason, cause } = message;
      this.#reports.upstreamStale(isStale ? unreadable(reason, codeOfCause(cause)) : undefined);
      return undefined;
    }
    this.#isAnswered = true;
    this.#reports.forgetRefusal();
    this.#reader.unblock();
    const answer = this.#apply(message, number);
    this.#reader.dropKept();
    if (this.#reports.isUpstreamStale) this.#reports.repeatStale();
    for (const listener of [...this.#awaiting]) listener();
    return answer;
  }

  #apply(
    message: Exclude<TopicMessage, { readonly kind: "freshness" | "history" | "trial" }>,
    number: number,
  ): Buffer | undefined {
    switch (message.kind) {
      case "unchanged":
      case "snapshot":
      case "delta":
        return this.#takeVersion(message, number);
      case "missing":
        this.#reports.report({ kind: "missing" });
        return undefined;
      case "deleted":
        if (message.policy === "empty") this.#current = undefined;
        this.#reports.report({ kind: "deleted", applied: message.policy });
        return undefined;
      case "topic_error":
        if (message.code === notFound) this.#reports.report({ kind: "missing" });
        else {
          const refusal = `the upstream refuses ${this.name}: ${message.message}`;
          this.#reports.forgetUpstreamStale();
          this.#reports.refuse(unreadable(refusal, codeOfStatus(message.code)));
        }
        return undefined;
    }
  }

  #takeVersion(message: VersionMessage, number: number): Buffer {
    const { answer, outcome } = this.#replica.take(message, number);
    if ("mismatch" in outcome) this.#mismatches++;
    return answer;
  }

  confirm({ document }: AcceptedDocument, version: DocumentVersion): VersionOutcome {
    if (!this.#reports.isDocument) return this.#serve(() => document, version);
    this.#current = { document, version };
    this.#reports.report({ kind: "sameDocument", version });
    return accepted;
  }

  replace(snapshot: SnapshotMessage): VersionOutcome {
    return this.#serve(() => this.#reader.snapshot(snapshot), snapshot.version);
  }

  merge(current: AcceptedDocument, delta: Delta): MergedDraft | VersionOutcome {
    try {
      const document = this.#reader.delta(delta, current.document);
      return { digest: document.digest(), take: () => this.#takeMerged(document, delta.version) };
    } catch (cause) {
      if (this.#reader.isBlocked) return this.#refuseDocument(cause);
      return { mismatch: "the delta is no JSON, or nested too deeply" };
    }
  }

  #takeMerged(document: ReplicaDocument, version: DocumentVersion): VersionOutcome {
    return document.bytes > maxManifestBytes
      ? { mismatch: "with the deltas so far it may be larger than a document may be" }
      : this.#serve(() => document, version);
  }

  #serve(read: () => ReplicaDocument, version: DocumentVersion): VersionOutcome {
    try {
      const document = read();
      this.#reports.document(this.#reader.normalised(document), version, this.#reader.historyOf(version));
      this.#current = { document, version };
      this.#mismatches = 0;
      return accepted;
    } catch (cause) {
      return this.#refuseDocument(cause);
    }
  }

  #refuseDocument(cause: unknown): VersionOutcome {
    // The message of a parse error may contain a part of the document.
    const refusal = singleLine(cut(messageOf(cause)));
    const message = `the document that the upstream sends of ${this.name} is refused: ${refusal}`;
    const refused = new ProxyError("DOCUMENT_INVALID", message, { cause });
    // The topic does so, too, but a sink before it may keep the reason to itself.
    releaseFrames(refused);
    this.#reports.refuse(refused);
    this.#mismatches = 0;
    return { refusal };
  }
}

/** A tier serves documents whole. */
const accepted: VersionOutcome = { rejectedFlags: [] };

/** @param message contains a text of the upstream: it is cut, and made one line */
function unreadable(message: string, code: SourceErrorCode): ProxyError {
  return new ProxyError(code, singleLine(cut(message)));
}
