import { causeOf, type StaleCause } from "@bunting/sync-client/messages";
import { cut, RateLimitedLog, singleLine, type Context } from "@bunting/runtime";
import type {
  DeliveryResult,
  DocumentReceiver,
  SourceMemory,
  SourceRemote,
  SourceStatus,
} from "./sync-source.js";
import type { SourceConfig } from "./source-config.js";
import type { SyncMetrics } from "./sync-metrics.js";
import { shownUri } from "./shown-uri.js";
import { ofProxy, withLastFlags, withoutFlags } from "./outage-texts.js";
import type { SyncProtocol } from "./sync-protocol.js";

export interface SourceStateOptions {
  readonly context: Context<SyncMetrics>;
  readonly receiver: Pick<DocumentReceiver, "answered" | "contact" | "memoryOf">;
}

/** The last failure, until the source answers: a server that refuses lets one connect each time. */
interface SourceFailure {
  readonly reason: string;
  readonly message: string;
  readonly advice: string | undefined;
  /** The source is connected again. */
  readonly isOver: boolean;
}

/** Log lines of each kind of transition; a server can cause as many as it likes. */
const linesPerMinute = 6;

/** Whether a source is connected, and since when. Logs one line for each transition, up to a few a minute, not one for each attempt. */
export class SourceState {
  readonly #config: SourceConfig;
  readonly #options: SourceStateOptions;
  readonly #log: RateLimitedLog;
  #state: SourceStatus["state"] = "connecting";
  #since: number;
  #warning: string | undefined;
  #proxyLost: { readonly cause: StaleCause; readonly text: string } | undefined;
  #isEmpty = false;
  #remote: (() => SourceRemote) | undefined;
  #failure: SourceFailure | undefined;
  /** Why no stream with the newest token begins, as it was logged; undefined if one has. */
  #unrenewed: string | undefined;

  constructor(config: SourceConfig, options: SourceStateOptions) {
    this.#config = config;
    this.#options = options;
    this.#log = new RateLimitedLog(options.context.logger, options.context.clock);
    this.#since = options.context.clock.now();
  }

  status(): SourceStatus {
    return {
      sourceIndex: this.#config.sourceIndex,
      uri: this.#config.uri,
      selector: this.#config.selector,
      state: this.#state,
      since: this.#since,
      lastUpdate: this.#memory.lastUpdate,
      error: this.#error?.message,
      advice: this.#error?.advice,
      cause: this.#cause(),
      proxyLost: this.#error === undefined ? this.#proxyLost?.text : undefined,
      protocol: this.#memory.protocol,
      warning: this.#warning,
      isEmpty: this.#isEmpty,
      remote: this.#remote?.(),
    };
  }

  /** The proxy has said that it can't follow the flags, on this stream or on one before. */
  get isProxyLost(): boolean {
    return this.#proxyLost !== undefined;
  }

  connected(): void {
    if (this.#state === "connected") return;
    this.#enter("connected");
    if (this.#failure !== undefined) this.#failure = { ...this.#failure, isOver: true };
    this.#log.info("connected", this.#fields(), "connected to the source", linesPerMinute);
  }

  speaks(protocol: SyncProtocol): void {
    if (this.#memory.protocol === protocol) return;
    this.#memory.protocol = protocol;
    // Another server, or one that does not say it.
    this.#proxyLost = undefined;
    this.#options.context.metrics.speaks(this.#config.sourceIndex, protocol);
  }

  /** A document came and was taken over. */
  documentReceived(): void {
    this.documentTaken();
    this.documentConfirmed();
  }

  /** A document was taken over, and whether it is the newest is told beside. */
  documentTaken(): void {
    this.#options.context.metrics.documentReceived(this.#config.sourceIndex);
    this.#memory.lastUpdate = this.#options.context.clock.now();
  }

  /** The source has a remote. */
  follows(remote: () => SourceRemote): void {
    this.#remote = remote;
  }

  /** A document came and was taken over, or was refused. The receiver has logged a refusal. */
  delivered(result: DeliveryResult): void {
    if ("refusal" in result) {
      this.#options.context.metrics.documentReceived(this.#config.sourceIndex);
      this.refused(result.refusal, { isLogged: true });
    } else this.documentReceived();
  }

  /**
   * The newest document can't be served, so that the flags before it, if any, still are. The source is connected, but what is held of it is
   * not the newest: it may become stale as if it were away. It has answered all the same: one mistake must not keep Pods from starting. To be
   * called again whenever it is seen that this is still so.
   *
   * @param why may be long: it is cut
   */
  refused(why: string, { isLogged }: { readonly isLogged: boolean }): void {
    this.connected();
    this.#failure = undefined;
    this.#refused(why, isLogged);
  }

  /**
   * A source of two parts is lost, and the newest document of one of them can't be served. It has answered all the same.
   *
   * @param why may be long: it is cut; undefined if that is over
   */
  refusedBeside(why: string | undefined): void {
    if (why === undefined) this.#warning = undefined;
    else this.#refused(why, false);
  }

  #refused(why: string, isLogged: boolean): void {
    const { context, receiver } = this.#options;
    const { sourceIndex } = this.#config;
    context.metrics.sourceFailed(sourceIndex, "refused");
    receiver.contact?.(sourceIndex, false);
    if (this.#isEmpty) this.#setEmpty(false);
    receiver.answered(sourceIndex);
    const reason = singleLine(cut(why));
    const warning = `its newest document is refused: ${reason}; the flags before it, if any, are still served`;
    if (this.#warning === warning) return;
    this.#warning = warning;
    if (isLogged) return;
    const text = "the newest document is refused; the flags before it, if any, are still served";
    this.#log.warn("refused", { ...this.#fields(), reason }, text, linesPerMinute);
  }

  /** The current document is known to be the newest. */
  documentConfirmed(): void {
    this.#updated();
    const { metrics, clock } = this.#options.context;
    metrics.documentConfirmed(this.#config.sourceIndex, clock.now());
  }

  /** The source is connected but has no document, so its last flags are still served. Logged once until there is a document. */
  warned(warning: string): void {
    this.connected();
    this.#failure = undefined;
    this.#confirmed();
    this.#answeredEmpty();
    if (this.#warning === warning) return;
    this.#warning = warning;
    this.#log.warn("warning", this.#fields(), warning, linesPerMinute);
  }

  /**
   * @param reason one of a small set of words: a new one is logged, the same one again is not before the source has answered.
   * @param text may be long: it is cut
   * @param advice what to do about it, one of a small set of sentences: a new one is logged
   */
  failed(reason: string, text: string, advice?: string): void {
    const message = singleLine(cut(text));
    const { logger, metrics } = this.#options.context;
    // An outage may end in something that only people can mend, such as a server that comes back with a certificate that is not trusted.
    const isNewFailure =
      this.#failure?.reason !== reason || (advice !== undefined && advice !== this.#failure.advice);
    metrics.sourceFailed(this.#config.sourceIndex, reason);
    // The next stream begins with the newest token.
    this.#unrenewed = undefined;
    this.#options.receiver.contact?.(this.#config.sourceIndex, false);
    this.#failure = { reason, message, advice, isOver: false };
    if (reason === "not_found") this.#answeredEmpty();
    // A mistake as one that is refused: it must not keep Pods from starting.
    else if (reason === "too_large" || reason === "malformed")
      this.#options.receiver.answered(this.#config.sourceIndex);
    if (this.#state === "connected") this.#enter("disconnected");
    else metrics.connected(this.#config.sourceIndex, false);
    const cause = causeOf(reason);
    const fields = { ...this.#fields(), reason, error: message, ...(advice === undefined ? {} : { advice }) };
    if (!isNewFailure) logger.debug(fields, "the source still fails in the same way");
    else {
      const words = this.#memory.lastUpdate === undefined ? withoutFlags : withLastFlags;
      this.#log.warn("failure", fields, words[cause], linesPerMinute);
    }
  }

  /**
   * The proxy is connected, and can't follow the flags itself: those held may not be the newest. Until there are some, the source has not
   * answered.
   *
   * @param why may be long: it is cut
   */
  proxyLost(cause: StaleCause, why: string): void {
    const reason = singleLine(cut(why));
    const text = `${ofProxy[cause]}: ${reason}`;
    this.#options.receiver.contact?.(this.#config.sourceIndex, false);
    if (this.#proxyLost?.text === text) return;
    this.#proxyLost = { cause, text };
    const message = `${ofProxy[cause]}; the last flags, if any, are still served`;
    this.#log.warn("proxy lost", { ...this.#fields(), cause, reason }, message, linesPerMinute);
  }

  /** The proxy can follow the flags: those held are the newest. */
  proxyFollows(): void {
    if (this.#proxyLost === undefined) return;
    this.#proxyLost = undefined;
    const isServed = this.#warning === undefined || this.#isEmpty;
    this.#options.receiver.contact?.(this.#config.sourceIndex, isServed && this.#error === undefined);
    this.#log.info("proxy follows", this.#fields(), "the proxy follows the flags again", linesPerMinute);
  }

  /** A stream with a newer token has taken over. */
  renewed(): void {
    this.#options.context.metrics.streamRenewed(this.#config.sourceIndex, "taken_over");
    this.#unrenewed = undefined;
    const text = "the token has changed: a stream with the new one has taken over";
    this.#log.info("renewed", this.#fields(), text, linesPerMinute);
  }

  /**
   * It is tried again until it succeeds: the same failure is logged once.
   *
   * @param text of any length: it is cut
   */
  renewalFailed(text: string, advice: string | undefined): void {
    this.#options.context.metrics.streamRenewed(this.#config.sourceIndex, "failed");
    const error = singleLine(cut(text));
    if (error === this.#unrenewed) return;
    this.#unrenewed = error;
    this.#log.warn(
      "renewal",
      { ...this.#fields(), error, ...(advice === undefined ? {} : { advice }) },
      "the token has changed, but a stream with the new one does not begin; the stream with the one before goes on until it expires",
      linesPerMinute,
    );
  }

  /** The source can't work with this agent. Counts as the answer that it has no flags, so that the other sources are served. */
  unusable(text: string): void {
    const { logger, metrics } = this.#options.context;
    metrics.sourceFailed(this.#config.sourceIndex, "unsupported");
    metrics.connected(this.#config.sourceIndex, false);
    this.#failure = { reason: "unsupported", message: text, advice: undefined, isOver: false };
    logger.error({ ...this.#fields(), error: text }, "the source can't be used; the others are served");
    this.#answeredEmpty();
  }

  get #memory(): SourceMemory {
    return this.#options.receiver.memoryOf(this.#config.sourceIndex);
  }

  get #error(): SourceFailure | undefined {
    return this.#failure?.isOver === false ? this.#failure : undefined;
  }

  #cause(): StaleCause | undefined {
    if (this.#error !== undefined) return causeOf(this.#error.reason);
    return this.#proxyLost?.cause;
  }

  #updated(): void {
    this.connected();
    this.#failure = undefined;
    this.#confirmed();
    this.#warning = undefined;
    this.#memory.lastUpdate = this.#options.context.clock.now();
    if (this.#isEmpty) this.#setEmpty(false);
  }

  /** What the source has is held: it is the newest, unless its proxy has said that it can't follow. */
  #confirmed(): void {
    this.#options.receiver.contact?.(this.#config.sourceIndex, this.#proxyLost === undefined);
  }

  #answeredEmpty(): void {
    if (!this.#isEmpty) this.#setEmpty(true);
    this.#options.receiver.answered(this.#config.sourceIndex);
  }

  #setEmpty(isEmpty: boolean): void {
    this.#isEmpty = isEmpty;
    this.#options.context.metrics.empty(this.#config.sourceIndex, isEmpty);
  }

  #enter(state: SourceStatus["state"]): void {
    this.#state = state;
    this.#since = this.#options.context.clock.now();
    this.#options.context.metrics.connected(this.#config.sourceIndex, state === "connected");
  }

  #fields(): Readonly<Record<string, unknown>> {
    const { uri, selector, sourceIndex } = this.#config;
    return { source: shownUri(uri), ...(selector === "" ? {} : { selector }), sourceIndex };
  }
}
