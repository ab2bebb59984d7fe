import { syncV1 } from "@bunting/protocol";
import {
  type GeneratedMessage,
  messageCodec,
  RpcError,
  serverStreaming,
  unary,
  type Call,
  type Method,
  type ResponseStream,
  type TransportStream,
} from "@bunting/rpc";
import { Deadlines, type Clock } from "@bunting/runtime";
import type { ApiMetrics, SyncStreamEndReason } from "../api-metrics.js";
import type { FlagChange, FlagReader } from "../backend.js";
import { boundedLabels } from "../bounded-labels.js";
import { encodeStruct } from "../codec/struct-writer.js";
import { selectorHeader, type Selections } from "../selection.js";
import { shutdownStatus, StreamEnding, streamDeadlineStatus } from "../stream-ending.js";
import { SyncGroup } from "./sync-group.js";
import { SyncStream } from "./sync-stream.js";

export interface SyncServiceOptions {
  readonly reader: FlagReader;
  readonly selections: Selections;
  readonly metrics: ApiMetrics;
  readonly clock: Clock;
  /** `--context-value`: what is sent as `sync_context`. */
  readonly contextValues: Readonly<Record<string, string>>;
  /** `--disable-sync-metadata`. */
  readonly isMetadataDisabled: boolean;
  /** `--stream-deadline`; 0 is none. */
  readonly streamDeadlineMs: number;
  /** How long the first answers wait for all sources, from now: 5 s if not given. */
  readonly holdMs?: number;
}

/** Selectors and provider ids are what clients say: so many of each are told apart in metrics. */
const maxLabels = 50;

const service = "/flagd.sync.v1.FlagSyncService";

/**
 * flagd.sync.v1 of the agent: the flags of all its sources, or of a selector's set, for SDKs that evaluate in process.
 *
 * A stream gets the whole set at once and after every change of it; a version that it had no time for is not sent. Until every
 * source has delivered, or the hold is over, streams get their headers only: half a set would have applications answer FLAG_NOT_FOUND.
 */
export class SyncService {
  readonly #options: SyncServiceOptions;
  readonly #context: Buffer;
  readonly #groups = new Map<string, SyncGroup>();
  readonly #open = new Map<TransportStream, SyncStream>();
  readonly #expiring: Deadlines<SyncStream>;
  readonly #ending: StreamEnding;
  readonly #selectorLabel = boundedLabels(maxLabels);
  readonly #providerLabel = boundedLabels(maxLabels);
  readonly #holdEndsMs: number;
  readonly #whenReleased = new Set<() => void>();
  #cancelHold: (() => void) | undefined;
  #isReleased = false;
  #isShutDown = false;

  constructor(options: SyncServiceOptions) {
    const { clock, holdMs = 5_000 } = options;
    this.#options = options;
    this.#context = encodeStruct(options.contextValues);
    this.#holdEndsMs = clock.monotonicMs() + holdMs;
    this.#ending = new StreamEnding(clock);
    this.#expiring = new Deadlines(clock, options.streamDeadlineMs, (stream) => {
      this.#leave(stream, "deadline_exceeded");
      this.#ending.end(stream.out, streamDeadlineStatus);
    });
  }

  /** How many streams are open. */
  get size(): number {
    return this.#open.size;
  }

  methods(): Method[] {
    return [
      serverStreaming({
        path: `${service}/SyncFlags`,
        decode: decoderOf<syncV1.SyncFlagsRequest>(syncV1.SyncFlagsRequest),
        handle: (request, out) => this.#subscribe(request, out),
      }),
      unary({
        path: `${service}/FetchAllFlags`,
        decode: decoderOf<syncV1.FetchAllFlagsRequest>(syncV1.FetchAllFlagsRequest),
        encode: messageCodec(syncV1.FetchAllFlagsResponse).encode,
        handle: (request, call) => this.#fetchAll(request, call),
      }),
      unary({
        path: `${service}/GetMetadata`,
        decode: () => undefined,
        encode: messageCodec(syncV1.GetMetadataResponse).encode,
        handle: () => this.#metadata(),
      }),
    ];
  }

  /** Sends each stream what is in its set now. To be called after every change of the store. */
  publish(changes: readonly FlagChange[]): void {
    for (const group of this.#groups.values()) {
      if (this.#isReleased) group.publish(changes);
    }
  }

  /** Every source has delivered: what is held may go out. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#cancelHold?.();
    for (const group of this.#groups.values()) group.wake();
    for (const resolve of this.#whenReleased) resolve();
    this.#whenReleased.clear();
  }

  /**
   * Sends a stream the newest version, if it is one of ours, and ends it. Its connection's GOAWAY must have gone out, or the client comes
   * back at once.
   */
  drain(transportStream: TransportStream): void {
    const stream = this.#open.get(transportStream);
    if (stream === undefined) return;
    if (this.#isReleased) stream.flush();
    this.#leave(stream, "normal_close");
    this.#ending.end(stream.out, shutdownStatus);
  }

  /** Ends all streams, and those that still come. */
  shutdown(): void {
    this.#isShutDown = true;
    this.#cancelHold?.();
    for (const resolve of this.#whenReleased) resolve();
    this.#whenReleased.clear();
    for (const stream of this.#open.keys()) this.drain(stream);
  }

  #subscribe({ selector, providerId }: syncV1.SyncFlagsRequest, out: ResponseStream): void {
    const group = this.#groupOf(selector, out);
    if (this.#isShutDown) {
      out.end(shutdownStatus);
      return;
    }
    const { metrics, clock, streamDeadlineMs } = this.#options;
    const labels = [this.#selectorLabel(group.text), this.#providerLabel(providerId)] as const;
    const stream = new SyncStream(out, group, labels, clock.monotonicMs());
    this.#groups.set(group.text, group);
    group.add(stream);
    this.#open.set(out.stream, stream);
    metrics.syncStreamOpened(...labels);
    if (streamDeadlineMs > 0) this.#expiring.start(stream);
    out.onClose(() => this.#leave(stream, "client_disconnect"));
    // At once, also while it is held: Rust clients give up after 5 s without.
    out.sendHeaders();
    if (this.#isHolding()) return;
    stream.wake();
  }

  async #fetchAll(
    { selector }: syncV1.FetchAllFlagsRequest,
    call: Call,
  ): Promise<syncV1.FetchAllFlagsResponse> {
    const group = this.#groupOf(selector, call);
    if (this.#isHolding()) await new Promise<void>((resolve) => this.#whenReleased.add(resolve));
    if (this.#isShutDown) throw new RpcError(shutdownStatus.code, shutdownStatus.message);
    return { flagConfiguration: group.configuration() };
  }

  #metadata(): syncV1.GetMetadataResponse {
    if (this.#options.isMetadataDisabled) {
      throw new RpcError("UNIMPLEMENTED", "metadata is switched off here (--disable-sync-metadata)");
    }
    return { metadata: this.#options.contextValues };
  }

  /** The header wins over the body, even when it is empty. */
  #groupOf(bodySelector: string, call: Call): SyncGroup {
    const selection = this.#options.selections.of(call.header(selectorHeader) ?? bodySelector);
    return this.#groups.get(selection.text) ?? new SyncGroup(selection, this.#options.reader, this.#context);
  }

  #isHolding(): boolean {
    if (this.#isReleased || this.#isShutDown) return false;
    const { clock } = this.#options;
    const leftMs = this.#holdEndsMs - clock.monotonicMs();
    if (leftMs > 0) this.#cancelHold ??= clock.after(leftMs, () => this.release());
    else this.release();
    return leftMs > 0;
  }

  /** Nothing more is sent to the stream; it has closed, or is about to end. */
  #leave(stream: SyncStream, reason: SyncStreamEndReason): void {
    if (!this.#open.delete(stream.out.stream)) return;
    const { group, labels, openedMs } = stream;
    const { metrics, clock } = this.#options;
    this.#expiring.cancel(stream);
    group.delete(stream);
    if (group.size === 0) this.#groups.delete(group.text);
    metrics.syncStreamClosed(...labels, reason, clock.monotonicMs() - openedMs);
  }
}

/** What the generated code throws at bytes that are no message is nothing for a client to see. */
function decoderOf<Message>(type: GeneratedMessage<Message>): (bytes: Uint8Array) => Message {
  return (bytes) => {
    try {
      return type.decode(bytes);
    } catch (cause) {
      throw new RpcError("INVALID_ARGUMENT", "The request is not a valid protobuf message.", { cause });
    }
  };
}
