import type { ChannelOptions } from "@grpc/grpc-js";
import { Backoff, sleep } from "@bunting/runtime";
import type { FlagSource, SourceOptions, SourceStatus } from "./flag-source.js";
import type { GrpcSourceConfig } from "./source-config.js";
import { SourceState } from "./source-state.js";
import { callSyncFlags, type SyncCallEnd } from "./sync-call.js";
import { SyncChannel } from "./sync-channel.js";

/** Waits between streams: up to 0.3 s before the first, then twice as much, up to 10 s; see Backoff for the jitter. */
const retryFirstMs = 300;
const retryCapMs = 10_000;
/**
 * How long a stream has to last, from its first document on, for the waits to begin anew. A server that sends a document and ends at
 * once would be asked several times a second otherwise.
 */
const healthyMs = 10_000;
/** A server may ask to be tried at once, but not in a tight loop. */
const pushbackFloorMs = 50;
/**
 * A server that finds pings too frequent closes the connection with ENHANCE_YOUR_CALM. A stock flagd-proxy tolerates one in 5 minutes
 * unless told otherwise: from 20 s this gets there in two steps.
 */
const keepaliveGrowth = 4;
const keepaliveCapMs = 320_000;
/** What a message may hold besides the document. */
const contextSlackBytes = 64 * 1024;

/** Shortened by tests. */
export interface GrpcSourceTiming {
  /** How long a connection may be silent before it is asked for a sign of life. */
  readonly keepaliveMs: number;
  /** How long that sign may take. */
  readonly keepaliveTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

const defaultTiming: GrpcSourceTiming = {
  keepaliveMs: 20_000,
  keepaliveTimeoutMs: 10_000,
  connectTimeoutMs: 10_000,
};

/** A SyncFlags stream that is opened again whenever it ends, whatever it ended with: OK is no reason to stay away. */
export class GrpcSource implements FlagSource {
  readonly name: string;
  readonly #config: GrpcSourceConfig;
  readonly #options: SourceOptions;
  readonly #timing: GrpcSourceTiming;
  readonly #state: SourceState;
  readonly #backoff = new Backoff({ firstMs: retryFirstMs, capMs: retryCapMs });
  readonly #maxDocumentBytes: number;
  #keepaliveMs: number;
  /** False while the server can be reached but what it sends can't be used. */
  #isOpenEnough = true;

  constructor(config: GrpcSourceConfig, options: SourceOptions, timing: Partial<GrpcSourceTiming> = {}) {
    this.name = `source-${config.sourceIndex}`;
    this.#config = config;
    this.#options = options;
    this.#timing = { ...defaultTiming, ...timing };
    this.#keepaliveMs = this.#timing.keepaliveMs;
    this.#state = new SourceState(config, options);
    this.#maxDocumentBytes = Math.min(config.maxMessageBytes ?? Infinity, options.maxDocumentBytes);
  }

  status(): SourceStatus {
    return this.#state.status();
  }

  async run(signal: AbortSignal): Promise<void> {
    let channel: SyncChannel | undefined;
    try {
      while (!signal.aborted) {
        channel ??= this.#connect();
        const end = await this.#stream(channel, signal);
        if (isAborted(signal)) break;
        this.#report(end);
        if (!channel.isConnected) {
          await channel.close();
          channel = undefined;
        }
        await sleep(this.#waitMs(end), signal, this.#options.clock);
      }
    } finally {
      await channel?.close();
    }
  }

  #connect(): SyncChannel {
    const { target, authority } = this.#config;
    const options: ChannelOptions = {
      "grpc.max_receive_message_length": this.#maxDocumentBytes + contextSlackBytes,
      "grpc.keepalive_time_ms": this.#keepaliveMs,
      "grpc.keepalive_timeout_ms": this.#timing.keepaliveTimeoutMs,
      "grpc.keepalive_permit_without_calls": 0,
      ...(authority === undefined ? {} : { "grpc.default_authority": authority }),
    };
    return new SyncChannel(target, options);
  }

  async #stream(channel: SyncChannel, signal: AbortSignal): Promise<SyncCallEnd> {
    const { sourceIndex, selector, providerId, headers } = this.#config;
    const { clock } = this.#options;
    let firstDocumentMs: number | undefined;
    const end = await callSyncFlags(
      channel,
      {
        request: { providerId, selector },
        headers,
        clock,
        connectTimeoutMs: this.#timing.connectTimeoutMs,
        opened: () => {
          if (this.#isOpenEnough) this.#state.connected();
        },
        received: ({ document, context }) => {
          this.#isOpenEnough = true;
          firstDocumentMs ??= clock.monotonicMs();
          this.#state.documentReceived(document.length);
          this.#options.deliver({ sourceIndex, bytes: document, context });
        },
      },
      signal,
    );
    if (firstDocumentMs !== undefined && clock.monotonicMs() - firstDocumentMs >= healthyMs)
      this.#backoff.reset();
    return end;
  }

  #report({ reason, message }: SyncCallEnd): void {
    this.#isOpenEnough = reason !== "too_large" && reason !== "malformed";
    if (reason === "too_large") {
      this.#state.failed(reason, this.#tooLarge());
    } else if (reason === "enhance_your_calm") {
      this.#keepaliveMs = Math.min(this.#keepaliveMs * keepaliveGrowth, keepaliveCapMs);
      const seconds = this.#keepaliveMs / 1_000;
      this.#state.failed(reason, `the server wants fewer pings: from now on there is one in ${seconds} s`);
    } else {
      this.#state.failed(reason, message);
    }
  }

  #tooLarge(): string {
    const limit = `the flag document is larger than ${this.#maxDocumentBytes} bytes, `;
    return this.#maxDocumentBytes === this.#options.maxDocumentBytes
      ? `${limit}which is what this agent has memory for: give it more memory, or select fewer flags`
      : `${limit}which is the "maxMsgSize" of the source: raise it, or select fewer flags`;
  }

  #waitMs({ pushbackMs }: SyncCallEnd): number {
    const waitMs = this.#backoff.next();
    return pushbackMs === undefined ? waitMs : Math.min(Math.max(pushbackMs, pushbackFloorMs), retryCapMs);
  }
}

/** TypeScript takes what it knew of `aborted` before an await for true after it. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
