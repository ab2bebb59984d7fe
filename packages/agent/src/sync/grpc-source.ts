import {
  type CallEnd,
  callEnd,
  callSyncFlags,
  grpcTls,
  MessageArrival,
  MessageBuffer,
  runRenewing,
  SentSecrets,
  type StreamTurn,
  SyncChannel,
  type TokenFile,
} from "@bunting/sync-client";
import { credentials, type ChannelCredentials, type ChannelOptions } from "@grpc/grpc-js";
import { topicOf } from "@bunting/protocol";
import { HeapRoom, isAborted, sleep } from "@bunting/runtime";
import { FlagSetsTooLargeError, replaceFlagSets } from "./flag-sets.js";
import type { SyncSourceParts } from "./on-demand-source.js";
import type { SyncSourceOptions } from "./sync-source.js";
import { defaultTiming, type GrpcSourceTiming } from "./grpc-source-timing.js";
import { refusalAdvice } from "./refusal-advice.js";
import type { GrpcSourceConfig } from "./source-config.js";
import type { SourceState } from "./source-state.js";
import { tokenFileOf } from "./source-token.js";
import { StreamWaits } from "./stream-waits.js";
import type { SyncProtocol } from "./sync-protocol.js";
import { TopicStream, type TopicStreamParts } from "./topic-stream.js";

/**
 * A server that finds pings too frequent closes the connection with ENHANCE_YOUR_CALM. A stock flagd-proxy accepts one in 5 minutes by
 * default: from 20 s this gets there in two steps.
 */
const keepaliveGrowth = 4;
const keepaliveCapMs = 320_000;
/** Size of a message beyond its document, in bytes. */
const contextSlackBytes = 64 * 1024;

/** The options that name the files, and the fields of a source that do. */
const tlsFileNames = {
  certPath: '--ca-file (or "certPath")',
  clientCertPath: '--client-cert-file (or "clientCertPath")',
  clientKeyPath: '--client-key-file (or "clientKeyPath")',
};

type TurnParts = Omit<TopicStreamParts, "heard">;

/**
 * A stream that is opened again whenever it ends, with any status, including OK.
 *
 * It uses bunting.sync.v1 if the server supports it, else flagd.sync.v1. The protocol is negotiated again on each connection, because
 * the server behind the same name may have been replaced.
 */
export class GrpcSource {
  readonly #config: GrpcSourceConfig;
  readonly #options: SyncSourceOptions;
  readonly #timing: GrpcSourceTiming;
  readonly #state: SourceState;
  readonly #waits: StreamWaits;
  readonly #maxDocumentBytes: number;
  readonly #room: HeapRoom;
  readonly #secrets: SentSecrets;
  readonly #tokenFile: TokenFile | undefined;
  /** Undefined if the selector does not name a single topic: then only flagd.sync.v1 can be used. */
  readonly #topicStream: TopicStream | undefined;
  /** The server at the other end of the channel does not know bunting.sync.v1. */
  #isFlagdOnly = false;
  #keepaliveMs: number;
  /** When the current attempt began to connect. */
  #attemptedMs = 0;
  /** False while the server can be reached but its messages can't be used. */
  #isOpenEnough = true;

  constructor(source: SyncSourceParts<GrpcSourceConfig>, timing: Partial<GrpcSourceTiming> = {}) {
    const { config, options, state } = source;
    this.#config = config;
    this.#options = options;
    this.#timing = { ...defaultTiming, ...timing };
    this.#keepaliveMs = this.#timing.keepaliveMs;
    this.#state = state;
    this.#waits = new StreamWaits(options.context.clock);
    this.#maxDocumentBytes = Math.min(config.maxMessageBytes ?? Infinity, options.maxDocumentBytes);
    this.#room = new HeapRoom(options.context.clock);
    this.#secrets = new SentSecrets(config.headers);
    this.#tokenFile = tokenFileOf(config);
    // Flag sets come as documents of flagd.sync.v1.
    const topic = config.isIncremental ? undefined : topicOf(config.selector);
    if (topic === undefined) return;
    this.#topicStream = new TopicStream(topic, source, {
      opened: () => this.#opened("bunting.sync.v1"),
      advice: (reason) => refusalAdvice(config, reason),
      waitMs: (pushbackMs) => this.#waits.nextMs({ message: "", pushbackMs }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    let channel: SyncChannel | CallEnd | undefined;
    const stopListening = this.#topicStream?.listen();
    try {
      while (!signal.aborted) {
        channel ??= await this.#connect();
        const end = channel instanceof SyncChannel ? await this.#stream(channel, signal) : channel;
        if (isAborted(signal)) break;
        this.#report(end);
        if (!(channel instanceof SyncChannel)) channel = undefined;
        else if (end.reason === "silent" || !channel.isConnected) {
          await channel.close();
          channel = undefined;
        }
        await sleep(this.#waits.nextMs(end), signal, this.#options.context.clock);
      }
    } finally {
      stopListening?.();
      if (channel instanceof SyncChannel) await channel.close();
    }
  }

  /** A new channel, or why there is none. */
  async #connect(): Promise<SyncChannel | CallEnd> {
    const { target, authority, isTls } = this.#config;
    this.#isFlagdOnly = false;
    let transport: ChannelCredentials;
    try {
      transport = isTls ? await grpcTls(this.#config, tlsFileNames) : credentials.createInsecure();
    } catch (error) {
      return callEnd("certificate", (error as Error).message);
    }
    const options: ChannelOptions = {
      "grpc.max_receive_message_length": Math.min(
        this.#config.maxMessageBytes ?? Infinity,
        this.#options.maxDocumentBytes + contextSlackBytes,
      ),
      "grpc.keepalive_time_ms": this.#keepaliveMs,
      "grpc.keepalive_timeout_ms": this.#timing.keepaliveTimeoutMs,
      "grpc.keepalive_permit_without_calls": 0,
      ...(authority === undefined
        ? {}
        : { "grpc.default_authority": authority, "grpc.ssl_target_name_override": authority }),
    };
    this.#attemptedMs = this.#options.context.clock.monotonicMs();
    return new SyncChannel(target, options, transport);
  }

  async #stream(channel: SyncChannel, signal: AbortSignal): Promise<CallEnd> {
    const tokenFile = this.#tokenFile;
    if (tokenFile === undefined) {
      const turn = { token: "", buffer: new MessageBuffer(), isRenewal: false, answered: () => undefined };
      return this.#open(channel, turn, signal);
    }
    let token: string;
    try {
      token = await tokenFile.read();
    } catch (error) {
      return callEnd("token", (error as Error).message);
    }
    return runRenewing(
      {
        token,
        tokenFile,
        clock: this.#options.context.clock,
        tokenIntervalMs: this.#timing.tokenIntervalMs,
        answerTimeoutMs: this.#timing.renewalTimeoutMs,
        open: (turn, until) => this.#open(channel, turn, until),
        renewed: () => this.#state.renewed(),
        renewalFailed: ({ reason, message }) =>
          this.#state.renewalFailed(message, refusalAdvice(this.#config, reason)),
      },
      signal,
    );
  }

  /** One stream, of the better protocol that the server knows. */
  async #open(channel: SyncChannel, turn: StreamTurn, signal: AbortSignal): Promise<CallEnd> {
    const { token, buffer, isRenewal } = turn;
    if (token !== "") this.#secrets.sent(token);
    const parts: TurnParts = {
      headers:
        token === "" ? this.#config.headers : { ...this.#config.headers, authorization: `Bearer ${token}` },
      clock: this.#options.context.clock,
      connectTimeoutMs: this.#timing.connectTimeoutMs,
      redact: this.#secrets.redact,
      buffer,
      isRenewal,
      answered: () => {
        turn.answered();
        this.#answered();
      },
    };
    if (this.#topicStream !== undefined && !this.#isFlagdOnly) {
      const stream = { isHeard: false };
      const heard = (): void => {
        stream.isHeard = true;
      };
      const end = await this.#topicStream.run(channel, { ...parts, heard }, signal);
      if (signal.aborted || stream.isHeard || isRenewal || !unknownMethod.has(end.reason)) return end;
      this.#isFlagdOnly = true;
    }
    const end = await this.#streamFlagd(channel, parts, turn, signal);
    // A refused stream tells nothing about the other protocol.
    if (refused.has(end.reason)) this.#isFlagdOnly = false;
    return end;
  }

  #streamFlagd(
    channel: SyncChannel,
    parts: TurnParts,
    turn: StreamTurn,
    signal: AbortSignal,
  ): Promise<CallEnd> {
    const { sourceIndex, selector, providerId } = this.#config;
    const { clock, metrics } = this.#options.context;
    const arrival = new MessageArrival(channel);
    let stopWaiting: (() => void) | undefined;
    // The protocol has no message for a topic without a document: servers keep the stream open and stay silent.
    const waitForDocument = (): void => {
      stopWaiting = clock.after(this.#timing.firstDocumentTimeoutMs, () => {
        if (arrival.goesOn()) {
          waitForDocument();
          return;
        }
        turn.answered();
        this.#reportMissing();
      });
    };
    const call = callSyncFlags(
      channel,
      {
        ...parts,
        request: { providerId, selector },
        opened: () => {
          if (!parts.isRenewal) this.#opened("flagd.sync.v1");
          waitForDocument();
        },
        received: (document, messageBytes) => {
          stopWaiting?.();
          metrics.messageReceived(sourceIndex, "document", messageBytes);
          parts.answered();
          const bytes = this.#config.isIncremental ? this.#withOtherSets(document) : document;
          this.#state.delivered(this.#options.receiver.deliver({ sourceIndex, bytes }));
        },
      },
      signal,
    );
    return call
      .catch((error: unknown) => {
        if (error instanceof FlagSetsTooLargeError) return callEnd("too_large", "");
        throw error;
      })
      .finally(() => stopWaiting?.());
  }

  #withOtherSets(document: Buffer): Buffer {
    const { receiver, maxDocumentBytes } = this.#options;
    const current = receiver.currentDocument(this.#config.sourceIndex)?.layout.bytes;
    return replaceFlagSets(current, document, { maxBytes: maxDocumentBytes, room: this.#room });
  }

  #reportMissing(): void {
    const { selector } = this.#config;
    const what = selector === "" ? "no flags" : `no flags for ${selector}`;
    this.#state.warned(`the server sends ${what}; the previous flags, if any, are still served`);
  }

  #opened(protocol: SyncProtocol): void {
    this.#state.speaks(protocol);
    if (this.#isOpenEnough) this.#state.connected();
  }

  #answered(): void {
    this.#isOpenEnough = true;
    this.#waits.answered();
  }

  #report({ reason, message }: CallEnd): void {
    this.#isOpenEnough = reason !== "too_large" && reason !== "malformed";
    if (reason === "too_large") this.#state.failed(reason, this.#tooLarge());
    else if (reason === "enhance_your_calm" && this.#mayHavePinged) {
      this.#keepaliveMs = Math.min(this.#keepaliveMs * keepaliveGrowth, keepaliveCapMs);
      const seconds = this.#keepaliveMs / 1_000;
      this.#state.failed(reason, `the server wants fewer pings: the agent now sends one every ${seconds} s`);
    } else this.#state.failed(reason, message, refusalAdvice(this.#config, reason, message));
  }

  /** A server may refuse a stream with the same code before there was a ping. */
  get #mayHavePinged(): boolean {
    return this.#options.context.clock.monotonicMs() - this.#attemptedMs >= this.#keepaliveMs;
  }

  #tooLarge(): string {
    const limit = `the flag document is larger than ${this.#maxDocumentBytes} bytes, `;
    return this.#maxDocumentBytes === this.#options.maxDocumentBytes
      ? `${limit}which is what this agent has memory for: give it more memory, or select fewer flags`
      : `${limit}which is the "maxMsgSize" of the source: raise it, or select fewer flags`;
  }
}

/** Ends of a stream of bunting.sync.v1 at a server without it; a gateway may forbid it, or answer with a web page. */
const unknownMethod: ReadonlySet<string> = new Set(["unimplemented", "permission_denied", "not_grpc"]);

/** Statuses that tell nothing about what the server supports. */
const refused: ReadonlySet<string> = new Set(["unauthenticated", "permission_denied"]);
