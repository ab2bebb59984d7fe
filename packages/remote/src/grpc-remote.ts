import { calledUrl } from "@bunting/featureflags/resources";
import { topicOf } from "@bunting/protocol";
import { cut, isAborted, shareInFlight, singleLine, sleep, TokenBucket, untilAny } from "@bunting/runtime";
import {
  callEnd,
  callSync,
  callSyncFlags,
  MessageBuffer,
  OutgoingMessages,
  SentSecrets,
  statusName,
  SyncChannel,
  type CallEnd,
  type StreamParts,
} from "@bunting/sync-client";
import {
  encodeHello,
  TopicReplica,
  type Delta,
  type SnapshotMessage,
  type SyncResponse,
  type VersionMessage,
} from "@bunting/sync-client/messages";
import { authorization } from "./authorization.js";
import { HeldDocument } from "./held-document.js";
import { openChannel } from "./open-channel.js";
import { flagsIn, inTurn, jsonValue, type TextBounds } from "./read-flag-text.js";
import { failureOf, isHttpFailure, outcomeReason, RemoteDocumentError } from "./remote-error.js";
import type { RemoteFailure, RemoteFlags, RemoteReading, RemoteSurroundings } from "./remote-kind.js";
import { RemoteWaits } from "./remote-waits.js";

const connectTimeoutMs = 10_000;
/** More than a proxy sends on a stream of one topic: after each version it waits for the ack. */
const maxMessagesPerSecond = 1_000;
/** How a stream of bunting.sync.v1 ends at a server that has flagd.sync.v1 only; a gateway may forbid the other one. */
const unknownMethod: ReadonlySet<string> = new Set(["unimplemented", "permission_denied", "not_grpc"]);
/** A merge, and a message to each subscriber, follow each version: a remote that changes without end is followed once a second. */
const versionRate = { burst: 1, perSecond: 1 };
/** Ends that the same credentials meet again: the next attempt waits for longer. */
const refused: ReadonlySet<string> = new Set(["unauthenticated", "permission_denied", "credentials"]);

type HeldReplica = TopicReplica<NonNullable<HeldDocument["current"]>>;

/**
 * Flags of a proxy or of flagd: a stream of bunting.sync.v1, if the server has it and the selector names one topic, else of flagd.sync.v1. What comes
 * goes to `onFlags` and `onFailure` of the reading.
 *
 * Invariants:
 * - There is one connection at a time, to addresses that the guard admits; RemoteWaits says how long to wait for the next.
 * - A document outlives its connection (HeldDocument), so that the next one begins with a delta. Whatever ends, no flags are taken away.
 * - While a stream is open, and the server says nothing to the contrary, the last document (`#fresh`) counts as an answer each interval.
 * - Versions are read no faster than `versionRate`, and one at a time among all remotes, whose owners take turns (`inTurn`).
 */
export class GrpcRemote {
  readonly #reading: RemoteReading;
  readonly #surroundings: RemoteSurroundings;
  readonly #url: URL;
  readonly #selector: string;
  readonly #bounds: TextBounds;
  readonly #held: HeldDocument;
  readonly #versions: TokenBucket;
  readonly #replica: HeldReplica | undefined;
  readonly #waits: RemoteWaits;
  /** The newest document, while the server says nothing to the contrary. */
  #fresh: RemoteFlags | undefined;
  /** There was no heap for what came on the stream. The server would not send it again there, so another stream is opened. */
  #lacksHeap = false;

  constructor(reading: RemoteReading, surroundings: RemoteSurroundings) {
    const { uri, selector = "", intervalMs } = reading.provider;
    this.#reading = reading;
    this.#surroundings = surroundings;
    this.#url = calledUrl(uri);
    this.#selector = selector;
    const has = (bytes: number): boolean => {
      const isThere = surroundings.room.has(bytes);
      this.#lacksHeap ||= !isThere;
      return isThere;
    };
    this.#bounds = { ...surroundings.limits, room: { has } };
    this.#held = new HeldDocument(this.#bounds, (flags) => this.#deliver(flags));
    this.#versions = new TokenBucket(surroundings.clock, versionRate);
    const topic = topicOf(selector);
    this.#replica = topic === undefined ? undefined : new TopicReplica(topic, this.#held);
    this.#waits = new RemoteWaits(intervalMs, surroundings.random ?? Math.random);
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#surroundings;
    const stopConfirming = this.#startConfirming();
    try {
      while (!signal.aborted) {
        const end = await this.#follow(signal).catch((error: unknown) => error as Error);
        if (isAborted(signal)) return;
        this.#fail(end instanceof Error ? failureOf(end) : this.#failureOf(end));
        const reason = isHttpFailure(end) ? end.code : "reason" in end ? end.reason : "";
        const askedMs = "pushbackMs" in end ? (end.pushbackMs ?? 0) : 0;
        await sleep(this.#waits.next(refused.has(reason), askedMs), signal, clock);
      }
    } finally {
      stopConfirming();
    }
  }

  /** Returns a function that ends it. */
  #startConfirming(): () => void {
    const { clock } = this.#surroundings;
    const { provider, onFlags } = this.#reading;
    let cancel: () => void = () => undefined;
    const next = (): void => {
      cancel = clock.after(provider.intervalMs, () => {
        if (this.#fresh !== undefined) onFlags(this.#fresh);
        next();
      });
    };
    next();
    return () => cancel();
  }

  #deliver(flags: RemoteFlags): void {
    this.#fresh = flags;
    this.#waits.reset();
    this.#reading.onFlags(flags);
  }

  #fail(failure: RemoteFailure): void {
    this.#fresh = undefined;
    this.#reading.onFailure(failure);
  }

  #failureOf({ reason, message }: CallEnd): RemoteFailure {
    return { reason: outcomeReason(reason), message: cut(singleLine(`${this.#url.host}: ${message}`)) };
  }

  /** One connection, until its stream ends. */
  async #follow(signal: AbortSignal): Promise<CallEnd> {
    const headers = authorization(this.#reading.credential);
    this.#lacksHeap = false;
    const channel = await openChannel(this.#url, this.#reading, this.#surroundings, signal);
    if (!(channel instanceof SyncChannel)) return channel;
    const parts: StreamParts = {
      headers,
      clock: this.#surroundings.clock,
      connectTimeoutMs,
      redact: new SentSecrets(headers).redact,
      buffer: new MessageBuffer(),
    };
    try {
      if (this.#replica !== undefined) {
        const end = await this.#followTopic(this.#replica, channel, parts, signal);
        if (end !== undefined) return end;
      }
      return await this.#followFlagd(channel, { ...parts, buffer: new MessageBuffer() }, signal);
    } finally {
      await channel.close();
    }
  }

  /** Undefined if the server does not know the protocol. */
  async #followTopic(
    replica: HeldReplica,
    channel: SyncChannel,
    parts: StreamParts,
    signal: AbortSignal,
  ): Promise<CallEnd | undefined> {
    let outgoing: OutgoingMessages | undefined;
    const stream = { isHeard: false, ended: new AbortController() };
    const take = (message: VersionMessage, number: number): CallEnd | undefined => {
      const { answer, outcome } = replica.take(message, number);
      outgoing?.send(answer);
      if (!("refusal" in outcome)) return undefined;
      const sentence = `what the remote sent can't be served: ${outcome.refusal}`;
      if (this.#lacksHeap) return callEnd("document_invalid", sentence);
      this.#fail(failureOf(new RemoteDocumentError(sentence)));
      return undefined;
    };
    const end = await untilAny([signal, stream.ended.signal], async (over) => {
      const ended = await callSync(
        channel,
        {
          ...parts,
          hello: encodeHello({ agent: "bunting-remote", providerId: "", readsFreshness: true }),
          maxMessagesPerSecond,
          opened: () => undefined,
          started: (send) => {
            outgoing = new OutgoingMessages(send, parts.clock);
            outgoing.send(replica.subscribeMessage());
          },
          received: (response, number) => {
            stream.isHeard = true;
            if (outgoing?.isStuck === true)
              return callEnd("answers_unread", "the proxy goes on sending without reading the answers");
            if ("topic" in response && response.topic !== replica.topic) return undefined;
            if (!("version" in response)) return this.#takeState(response, parts);
            if (response.kind === "unchanged") return take(response, number);
            // The proxy sends the next version after the answer to this one.
            return this.#prepare(response, over).then(() =>
              over.aborted ? undefined : take(response, number),
            );
          },
        },
        signal,
      );
      stream.ended.abort();
      return ended;
    });
    return !signal.aborted && !stream.isHeard && unknownMethod.has(end.reason) ? undefined : end;
  }

  /** Resolves when the next version may be read, or the signal aborts. */
  async #nextVersion(over: AbortSignal): Promise<void> {
    await this.#versions.takeNext(over).catch(() => undefined);
  }

  async #prepare(message: SnapshotMessage | Delta, over: AbortSignal): Promise<void> {
    await this.#nextVersion(over);
    await inTurn(this.#reading, () => this.#held.prepare(message));
  }

  /** Takes what a proxy says of the topic beside its versions; returns an end if the stream is of no use any more. */
  #takeState(response: SyncResponse, { redact }: StreamParts): CallEnd | undefined {
    switch (response.kind) {
      case "missing":
        this.#fail(topicFailure("Missing", `the remote has no FeatureFlag ${this.#selector}`));
        break;
      case "deleted":
        this.#fail(topicFailure("Missing", `the FeatureFlag ${this.#selector} of the remote was deleted`));
        break;
      case "freshness":
        if (response.isStale)
          this.#fail(topicFailure("Stale", `the remote can't follow its flags: ${redact(response.reason)}`));
        else this.#fresh ??= this.#held.current?.flags;
        break;
      case "topic_error": {
        const name = statusName(response.code);
        const pushbackMs = response.retryAfterMs === 0 ? undefined : response.retryAfterMs;
        return { reason: name.toLowerCase(), message: `${name}: ${redact(response.message)}`, pushbackMs };
      }
      default:
    }
    return undefined;
  }

  /** A server of flagd.sync.v1 sends on without an answer: of what comes while a document is read, or before its time, the newest is read. */
  async #followFlagd(channel: SyncChannel, parts: StreamParts, signal: AbortSignal): Promise<CallEnd> {
    const ended = new AbortController();
    return untilAny([signal, ended.signal], async (over) => {
      let newest: Buffer | undefined;
      let lacking: Error | undefined;
      const read = shareInFlight(async () => {
        for (; newest !== undefined && !over.aborted;) {
          await this.#nextVersion(over);
          const document = newest;
          newest = undefined;
          lacking = await this.#read(document, over);
          if (lacking !== undefined) ended.abort();
        }
      });
      const call = {
        ...parts,
        request: { providerId: "", selector: this.#selector },
        opened: () => undefined,
        received: (document: Buffer) => {
          newest = document;
          void read();
        },
      };
      let end: CallEnd;
      try {
        end = await callSyncFlags(channel, call, over);
      } finally {
        // What has come before the end is read, too.
        await read();
        ended.abort();
      }
      if (lacking !== undefined) throw lacking;
      return end;
    });
  }

  /** Never rejects. Returns why there was no heap for it, if there was none: that is told as the end of the stream. */
  async #read(text: Buffer, over: AbortSignal): Promise<Error | undefined> {
    try {
      const flags = await inTurn(this.#reading, () => flagsIn(jsonValue(text, this.#bounds)));
      if (!over.aborted) this.#deliver(flags);
    } catch (error) {
      if (this.#lacksHeap) return error as Error;
      if (!over.aborted) this.#fail(failureOf(error));
    }
    return undefined;
  }
}

function topicFailure(reason: string, message: string): RemoteFailure {
  return { reason, message: cut(singleLine(message)) };
}
