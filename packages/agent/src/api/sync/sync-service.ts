import { syncV1 } from "@bunting/protocol";
import {
  messageCodec,
  RpcError,
  serverStreaming,
  sharedUnary,
  unary,
  type Call,
  type Method,
  type ResponseStream,
  type TransportStream,
} from "@bunting/rpc";
import type { Clock } from "@bunting/runtime";
import type { ApiMetrics } from "../api-metrics.js";
import type { FlagChange } from "../../store/flag-change.js";
import type { FlagReader, UnreadSources } from "../backend.js";
import { boundedLabels } from "../bounded-labels.js";
import { encodeStruct } from "../codec/struct-writer.js";
import { WireWriter } from "../codec/wire-writer.js";
import { unreadMessage } from "../evaluation-error.js";
import { textHeader } from "../request-headers.js";
import { selectorHeader, type Selection, type Selections } from "../selection.js";
import { shutdownStatus, StreamRegistry } from "../stream-registry.js";
import { FirstAnswerDelay } from "./first-answer-delay.js";
import { decodeEmptyRequest, decodeFlagsRequest, type FlagsRequest } from "./flags-request.js";
import type { FetchedFlags } from "./answer-flags-request.js";
import { SharedFetches } from "./shared-fetches.js";
import { SyncGroup } from "./sync-group.js";
import { SyncStream } from "./sync-stream.js";

/** The flags that are sent. */
export interface SyncFlags {
  readonly reader: FlagReader;
  readonly unread: UnreadSources;
  readonly selections: Selections;
}

/** Metadata that is sent beside the flags. */
export interface SyncMetadata {
  /** `--context-value`: sent as `sync_context`. */
  readonly contextValues: Readonly<Record<string, string>>;
  /** `--disable-sync-metadata`. */
  readonly isDisabled: boolean;
}

export interface SyncServiceOptions {
  readonly flags: SyncFlags;
  readonly metrics: ApiMetrics;
  readonly clock: Clock;
  readonly metadata: SyncMetadata;
  /** `--stream-deadline`; 0 means none. */
  readonly streamDeadlineMs: number;
  /** How long the first answers wait for all sources, counted from the construction of the service; default 5,000. */
  readonly firstAnswerDelayMs?: number;
}

/** How many selectors, and how many provider ids, metrics distinguish: clients choose both. */
const maxLabels = 50;

const service = "/flagd.sync.v1.FlagSyncService";

/**
 * flagd.sync.v1 of the agent: the flags of all its sources, or of a selector's set, for SDKs that evaluate in process.
 *
 * A stream gets the whole set when it opens and after every change of the set; a slow stream skips versions. Until every source has delivered,
 * or the delay is over, streams get only their headers: with half a set, applications would answer FLAG_NOT_FOUND. A stream whose set is empty
 * waits in the same way, as long as a source that could fill the set has not answered.
 */
export class SyncService {
  readonly #options: SyncServiceOptions;
  readonly #streams: StreamRegistry<SyncStream, SyncGroup>;
  readonly #fetches: SharedFetches;
  readonly #delay: FirstAnswerDelay;
  readonly #selectorLabel = boundedLabels(maxLabels);
  readonly #providerLabel = boundedLabels(maxLabels);
  #modifiedMs: number | undefined;

  constructor(options: SyncServiceOptions) {
    const { metrics, clock, streamDeadlineMs, firstAnswerDelayMs = 5_000 } = options;
    const { reader } = options.flags;
    this.#options = options;
    const fields = new WireWriter();
    fields.bytesField(2, encodeStruct(options.metadata.contextValues));
    const syncContext = fields.finish();
    this.#fetches = new SharedFetches(reader);
    this.#streams = new StreamRegistry<SyncStream, SyncGroup>({
      clock,
      streamDeadlineMs,
      createGroup: (selection) => new SyncGroup(selection, reader, syncContext),
      onLeave: ({ labels, openedMs }, reason) =>
        metrics.syncStreamClosed(...labels, reason, clock.monotonicMs() - openedMs),
      writeLast: (stream) => {
        if (this.#delay.isReleased && !this.#isUnread(stream.group.selection)) stream.flush();
      },
    });
    this.#delay = new FirstAnswerDelay(clock, firstAnswerDelayMs, () => this.#wake());
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size;
  }

  methods(): Method[] {
    return [
      serverStreaming({
        path: `${service}/SyncFlags`,
        decode: decodeFlagsRequest,
        handle: (request, out) => this.#subscribe(request, out),
      }),
      sharedUnary({
        path: `${service}/FetchAllFlags`,
        decode: decodeFlagsRequest,
        handle: (request, call) => this.#fetchAll(request, call),
      }),
      unary({
        path: `${service}/GetMetadata`,
        decode: decodeEmptyRequest,
        encode: messageCodec(syncV1.GetMetadataResponse).encode,
        handle: () => this.#metadata(),
      }),
    ];
  }

  /** The answer of FetchAllFlags for requests over HTTP; a string is the reason why there is none. */
  async fetch(selection: Selection): Promise<FetchedFlags | string> {
    if (this.#delay.mustWait()) await this.#delay.over;
    if (this.#streams.isShutDown) return shutdownStatus.message;
    if (this.#isUnread(selection)) return unreadMessage;
    return { ...this.#fetches.documentOf(selection), modifiedMs: this.#modifiedMs };
  }

  /** Sends the new set to each stream whose set has changed. To be called after every change of the store. */
  publish(changes: readonly FlagChange[]): void {
    this.#fetches.clear();
    const nowMs = this.#options.clock.now();
    const beforeMs = this.#modifiedMs ?? 0;
    // Never earlier than before: the clock may be set back, and who asks by time would be answered that nothing has changed.
    this.#modifiedMs = nowMs < beforeMs ? beforeMs + 1_000 : nowMs;
    if (!this.#delay.isReleased) return;
    for (const group of this.#streams.groups()) group.publish(changes);
  }

  /** Ends the delay. To be called when every source has delivered. */
  release(): void {
    this.#delay.release();
  }

  /** To be called when a source has answered for the first time. Even without flags, it ends the wait of streams with an empty set. */
  answered(): void {
    if (this.#delay.isReleased) this.#wake();
  }

  /** Sends the newest version to a SyncFlags stream and ends it. To be called after GOAWAY: otherwise the client opens it again on this connection. */
  drain(transportStream: TransportStream): void {
    this.#streams.drain(transportStream);
  }

  /** Ends all streams and waiting calls, and from now on each new stream. */
  shutdown(): void {
    this.#streams.shutdown();
    this.#delay.cancel();
  }

  #subscribe({ selector, providerId }: FlagsRequest, out: ResponseStream): void {
    const selection = this.#selectionOf(selector, out);
    const { metrics, clock } = this.#options;
    const labels = [this.#selectorLabel(selection.text), this.#providerLabel(providerId)] as const;
    const stream = this.#streams.open(
      out,
      selection,
      (group) => new SyncStream(out, group, labels, clock.monotonicMs()),
    );
    if (stream === undefined) return;
    metrics.syncStreamOpened(...labels);
    // Headers are sent even while the first answers wait: Rust clients give up after 5 s without headers.
    out.sendHeaders();
    if (!this.#delay.mustWait() && !this.#isUnread(selection)) stream.wake();
  }

  async #fetchAll({ selector }: FlagsRequest, call: Call): Promise<Uint8Array> {
    const selection = this.#selectionOf(selector, call);
    if (this.#delay.mustWait()) await this.#delay.over;
    if (this.#streams.isShutDown) throw new RpcError(shutdownStatus.code, shutdownStatus.message);
    if (this.#isUnread(selection)) throw new RpcError("UNAVAILABLE", unreadMessage);
    return this.#fetches.frameFor(selection, call.stream);
  }

  #wake(): void {
    for (const group of this.#streams.groups()) if (!this.#isUnread(group.selection)) group.wake();
  }

  /** True if no flag is selected, and a source that may have a selected one has not answered. */
  #isUnread({ select, takesSource }: Selection): boolean {
    const { reader, unread } = this.#options.flags;
    if (!unread.mayLack({ takesSource })) return false;
    for (const flag of reader.flags()) if (select === undefined || select(flag)) return false;
    return true;
  }

  #metadata(): syncV1.GetMetadataResponse {
    if (this.#options.metadata.isDisabled) throw new RpcError("UNIMPLEMENTED", "metadata endpoint disabled");
    return { metadata: this.#options.metadata.contextValues };
  }

  /** The header's selector wins over the body's, even when it is empty. */
  #selectionOf(bodySelector: string, call: Call): Selection {
    return this.#options.flags.selections.of(textHeader(call, selectorHeader) ?? bodySelector);
  }
}
