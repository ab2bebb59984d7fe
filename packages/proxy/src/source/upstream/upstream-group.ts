import type { TopicKey } from "@bunting/protocol";
import { aborted, untilAny, type Clock } from "@bunting/runtime";
import { ClaimedReads } from "../claimed-reads.js";
import type { SourceSink } from "../flag-source.js";
import { keepUntil } from "../keep-until.js";
import type { DocumentCapacity } from "./document-reader.js";
import type { UpstreamConfig } from "./upstream-config.js";
import type { UpstreamLink } from "./upstream-link.js";
import { UpstreamTopic } from "./upstream-topic.js";

export type LinkFactory = (targets: readonly string[], onOpened: () => void) => UpstreamLink;

/** Limit of topics per connection, below the upstream's, so that most left topics can come back. */
const topicsPerLink = 24;
/** Limit of an upstream per connection, including topics left lately. */
const chargedPerLink = 32;

interface RunningLink {
  readonly link: UpstreamLink;
  readonly abort: AbortController;
}

interface Watched {
  readonly topic: UpstreamTopic;
  /** Undefined until the group runs. */
  link: RunningLink | undefined;
}

/** The proxies of one cluster, and the connections to them: as many as the topics need, and at least one. */
export class UpstreamGroup {
  readonly prefix: string;
  readonly #targets: readonly string[];
  readonly #clock: Clock;
  readonly #documents: DocumentCapacity;
  readonly #onOpened: () => void;
  readonly #topics = new Map<TopicKey, Watched>();
  readonly #links: RunningLink[] = [];
  readonly #refreshes: ClaimedReads<TopicKey>;
  #start: (() => RunningLink) | undefined;
  #isOpened = false;

  constructor(
    { prefix, targets }: UpstreamConfig,
    clock: Clock,
    documents: DocumentCapacity,
    onOpened: () => void,
  ) {
    this.prefix = prefix;
    this.#targets = targets;
    this.#clock = clock;
    this.#documents = documents;
    this.#onOpened = onOpened;
    this.#refreshes = new ClaimedReads({
      clock,
      // A stream of its own, which makes the upstream read.
      read: (key, { signal }) => this.#read(key, signal),
    });
  }

  /** A proxy could be followed since the start. */
  get isOpened(): boolean {
    return this.#isOpened;
  }

  async run(create: LinkFactory, signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    let fail: (error: unknown) => void = () => undefined;
    const failed = new Promise<never>((_, reject) => (fail = reject));
    this.#start = () => {
      const link = create(this.#targets, () => this.#opened());
      const abort = new AbortController();
      const one = { link, abort };
      this.#links.push(one);
      const run = untilAny([signal, abort.signal], (until) => link.run(until)).catch(fail);
      running.add(run);
      void run.finally(() => running.delete(run));
      return one;
    };
    this.#start();
    for (const watched of this.#topics.values()) this.#place(watched);
    try {
      await Promise.race([aborted(signal), failed]);
    } finally {
      this.#start = undefined;
      for (const { abort } of this.#links.splice(0)) abort.abort();
      await Promise.all([...running, this.#refreshes.stop()]);
    }
  }

  watch(key: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    const topic = new UpstreamTopic(key.slice(this.prefix.length), sink, this.#clock, this.#documents);
    const watched: Watched = { topic, link: undefined };
    keepUntil(signal, this.#topics, [key, watched], () => this.#remove(watched));
    this.#place(watched);
  }

  refresh(key: TopicKey, done: () => void, peer: unknown): () => void {
    return this.#topics.has(key) ? this.#refreshes.claim(key, peer, done) : (): void => undefined;
  }

  /** Calls back after the next answer about the topic. */
  offerAgain(key: TopicKey, done: () => void): void {
    const watched = this.#topics.get(key);
    if (watched?.link === undefined) {
      done();
      return;
    }
    const forget = watched.topic.onAnswer(() => {
      forget();
      done();
    });
    watched.link.link.subscribeAgain(watched.topic);
  }

  #place(watched: Watched): void {
    if (this.#start === undefined) return;
    watched.link = this.#links.find(({ link }) => hasRoom(link)) ?? this.#start();
    watched.link.link.add(watched.topic);
  }

  #remove({ topic, link }: Watched): void {
    if (link === undefined) return;
    link.link.delete(topic);
    const at = this.#links.indexOf(link);
    // The first stays, so that it is known whether an upstream can be reached.
    if (at <= 0 || link.link.size > 0) return;
    this.#links.splice(at, 1);
    link.abort.abort();
  }

  async #read(key: TopicKey, signal: AbortSignal): Promise<boolean> {
    const watched = this.#topics.get(key);
    if (watched?.link === undefined) return false;
    return watched.link.link.refresh(watched.topic, signal);
  }

  #opened(): void {
    this.#isOpened = true;
    this.#onOpened();
  }
}

function hasRoom({ size, charged }: UpstreamLink): boolean {
  return size < topicsPerLink && charged < chargedPerLink;
}
