import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { HeapRoom, RateLimitedLog, type Context } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { FlagSource, SourceSink } from "../flag-source.js";
import type { SourceMetrics } from "../source-metrics.js";
import { Synced } from "../synced.js";
import { LargeDocuments } from "../large-documents.js";
import type { TierPath } from "./tier-path.js";
import type { UpstreamConfig, UpstreamCredentials } from "./upstream-config.js";
import { UpstreamGroup, type LinkFactory } from "./upstream-group.js";

export interface UpstreamSourceOptions {
  readonly upstreams: readonly UpstreamConfig[];
  readonly credentials: UpstreamCredentials;
  readonly tierPath: TierPath;
  readonly context: Context<SourceMetrics>;
  /** Does most of the work of reporting a document beforehand, in slices of the event loop. */
  readonly prepare?: ((document: FlagDocument) => Promise<void>) | undefined;
}

/** Serves the topics of other proxies: of one cluster, or of several that differ by the prefix of their topics. */
export class UpstreamSource extends Synced implements FlagSource {
  readonly name = "source";
  readonly #options: UpstreamSourceOptions;
  readonly #groups: readonly UpstreamGroup[];

  constructor(options: UpstreamSourceOptions) {
    super();
    const { upstreams, context } = options;
    this.#options = options;
    const documents = { room: new HeapRoom(context.clock), large: new LargeDocuments(options.prepare) };
    // The longest first: the empty prefix fits every topic.
    this.#groups = [...upstreams]
      .sort((one, other) => other.prefix.length - one.prefix.length)
      .map((config) => new UpstreamGroup(config, context.clock, documents, () => this.#opened()));
  }

  async run(signal: AbortSignal): Promise<void> {
    // With the client of gRPC, which no other source needs.
    const { UpstreamLink } = await import("./upstream-link.js");
    const log = new RateLimitedLog(this.#options.context.logger, this.#options.context.clock);
    const create: LinkFactory = (targets, onOpened) =>
      new UpstreamLink({ ...this.#options, context: { ...this.#options.context, log }, targets, onOpened });
    await Promise.all(this.#groups.map((group) => group.run(create, signal)));
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    if (signal.aborted) return;
    const group = this.#groupOf(topic);
    if (group === undefined) {
      const message = `${topic} is in no upstream: the prefixes are those of --topic-prefix`;
      const reason = new ProxyError("SOURCE_UNREADABLE", message);
      queueMicrotask(() => {
        if (!signal.aborted) sink.report({ kind: "stale", reason });
      });
    } else group.watch(topic, sink, signal);
  }

  refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    return this.#groupOf(topic)?.refresh(topic, done, peer) ?? ((): void => undefined);
  }

  offerAgain(topic: TopicKey, done: () => void): void {
    const group = this.#groupOf(topic);
    if (group === undefined) done();
    else group.offerAgain(topic, done);
  }

  #groupOf(topic: TopicKey): UpstreamGroup | undefined {
    return this.#groups.find(({ prefix }) => topic.startsWith(prefix));
  }

  /** True once every upstream has answered. */
  #opened(): void {
    if (this.#groups.every(({ isOpened }) => isOpened)) this.reached();
  }
}
