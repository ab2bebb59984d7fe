import { setImmediate as nextTurn } from "node:timers/promises";
import { Http2Transport, RestClient, type TransportTiming } from "@bunting/kube";
import type { TopicKey } from "@bunting/protocol";
import { createLogger, type Clock } from "@bunting/runtime";
import { expect } from "chai";
import { eventually, patienceMs } from "@bunting/test/support/event-queue.js";
import { patient } from "@bunting/test/support/patience.js";
import { FaultyApiServer, type FlagObject } from "@bunting/test/support/faulty-api-server/index.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { CountingMetrics, flags, RecordingSink, type LogLine, type SinkEvent } from "../source.fixture.js";
import { KubernetesSource, type KubernetesSourceOptions } from "./kubernetes-source.js";

/** A sink's event, in short: `2` for a document as of resourceVersion 2, and `missing`, `deleted`, `stale`. */
export function inShort(event: SinkEvent | undefined): string {
  if (event === undefined) return "nothing";
  return event.kind === "document" ? (event.version.resourceVersion ?? "?") : event.kind;
}

/** A topic that is subscribed to. */
export interface Subscribed {
  readonly topic: string;
  readonly sink: RecordingSink;
  readonly reported: string[];
  readonly stop: () => void;
}

export type SourceBenchOptions = Partial<KubernetesSourceOptions> & {
  /** For tests that break connections over and over: the timeouts of the transport. */
  readonly timing?: Partial<TransportTiming>;
};

/** Both ends of each connection are in this process, and need turns of its event loop until a frame is written or acted on. */
const turnsOfAnEnd = 5;

type KubeTransport = Pick<Http2Transport, "request">;

/** Knows how many answers the source waits for: heads of watches, and calls to the end of their bodies. */
class CountingTransport implements KubeTransport {
  readonly #transport: KubeTransport;
  #awaited = 0;

  constructor(transport: KubeTransport) {
    this.#transport = transport;
  }

  get awaited(): number {
    return this.#awaited;
  }

  async request(
    ...[request, signal]: Parameters<KubeTransport["request"]>
  ): ReturnType<KubeTransport["request"]> {
    this.#awaited++;
    let isOver = true;
    try {
      const response = await this.#transport.request(request, signal);
      isOver = request.kind === "watch" || response.body.destroyed;
      if (!isOver) response.body.once("close", () => this.#awaited--);
      return response;
    } finally {
      if (isOver) this.#awaited--;
    }
  }
}

/** The kubernetes source with an API server that fails on command, under a clock that a test moves. */
export class SourceBench<C extends Clock = ManualClock> {
  readonly api: FaultyApiServer;
  readonly clock: C;
  readonly metrics = new CountingMetrics();
  readonly source: KubernetesSource;
  readonly #lines: string[] = [];
  readonly #stopping = new AbortController();
  #counting: CountingTransport | undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(api: FaultyApiServer, clock: C, options: SourceBenchOptions) {
    const { timing, ...source } = options;
    this.api = api;
    this.clock = clock;
    const logger = createLogger(
      { format: "json", debug: true },
      { write: (line) => void this.#lines.push(line) },
    );
    this.source = new KubernetesSource({
      connect: () => {
        // Time on the network is real; the other clock is only for what the source itself waits for.
        const config = {
          server: new URL(api.url),
          tls: { read: () => Promise.resolve({ ca: api.ca }) },
          credentials: { headers: () => Promise.resolve({}), renew: () => Promise.resolve(false) },
        };
        const transport = new Http2Transport(config, timing === undefined ? {} : { timing });
        this.#counting = new CountingTransport(transport);
        return Promise.resolve({
          server: api.url,
          client: new RestClient(this.#counting),
          connections: transport,
        });
      },
      planning: { watchScope: "auto" },
      timeoutSeconds: 3_600,
      context: { clock, logger, metrics: this.metrics },
      ...source,
    });
  }

  static async start(options: SourceBenchOptions = {}): Promise<SourceBench> {
    return SourceBench.startWith(new ManualClock(), options);
  }

  static async startWith<C extends Clock>(
    clock: C,
    options: SourceBenchOptions = {},
  ): Promise<SourceBench<C>> {
    const bench = new SourceBench(await FaultyApiServer.start(), clock, options);
    bench.#running = bench.source.run(bench.#stopping.signal);
    return bench;
  }

  get log(): LogLine[] {
    return this.#lines.map((line) => JSON.parse(line) as LogLine);
  }

  logged(msg: string): LogLine[] {
    return this.log.filter((line) => line.msg === msg);
  }

  put(topic: string, version: number, annotations?: Readonly<Record<string, string>>): FlagObject {
    const { namespace, name } = partsOf(topic);
    const spec = { flagSpec: flags(version) };
    return this.api.put(namespace, name, spec, annotations === undefined ? {} : { annotations });
  }

  delete(topic: string): void {
    const { namespace, name } = partsOf(topic);
    this.api.delete(namespace, name);
  }

  subscribe(topic: string, peer?: string): Subscribed {
    const sink = new RecordingSink();
    const abort = new AbortController();
    this.source.watch(topic as TopicKey, sink, abort.signal, peer);
    return {
      topic,
      sink,
      get reported() {
        return sink.events.map(inShort);
      },
      stop: () => abort.abort(),
    };
  }

  /** Scopes of the watches that are open: `ns/name`, `ns/*`, and those of all. */
  get scopes(): string[] {
    return this.api
      .openWatches()
      .map(({ scope }) => scope)
      .sort();
  }

  /** Waits for something while time passes, a little at a time. */
  async until(condition: () => boolean, what: string): Promise<void> {
    if (!(this.clock instanceof ManualClock)) return eventually(condition, what);
    const deadline = Date.now() + patient(patienceMs);
    while (!condition()) {
      if (Date.now() > deadline) throw new Error(`${what}: not within ${patient(patienceMs)} ms`);
      this.clock.advance(25);
      await this.#settled();
    }
  }

  /** Waits for something while time stands still. */
  async soon(condition: () => boolean, what: string): Promise<void> {
    await eventually(condition, what);
  }

  async watches(...scopes: readonly string[]): Promise<void> {
    const wanted = [...scopes].sort().join(" ");
    await this.until(() => this.scopes.join(" ") === wanted, `the watches ${wanted}`).catch(
      (error: unknown) => {
        throw new Error(`${(error as Error).message}; there are ${this.scopes.join(" ")}`);
      },
    );
  }

  /** Lets time pass in steps, so that the effects of each timer can happen in between. */
  async pass(ms: number, stepMs = 250): Promise<void> {
    if (!(this.clock instanceof ManualClock)) throw new Error("this clock can't be moved");
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left));
      await this.#settled();
    }
  }

  /**
   * Lets what was asked of the API server be answered, and what it has sent arrive, before the clock moves on. It waits for no answer that a fault
   * holds back.
   */
  async #settled(): Promise<void> {
    const deadline = Date.now() + patient(patienceMs);
    for (;;) {
      for (let turn = 0; turn < turnsOfAnEnd; turn++) await nextTurn();
      await this.api.delivered();
      for (let turn = 0; turn < turnsOfAnEnd; turn++) await nextTurn();
      const awaited = this.#counting?.awaited ?? 0;
      if (awaited <= this.api.heldRequests) return;
      if (Date.now() > deadline) throw new Error(`${awaited} requests were not answered`);
    }
  }

  /** Ends everything; then nothing may be left: no timer, no stream. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await eventually(() => this.api.watches().length === 0, "all watches closed");
    await this.api.close();
    if (this.clock instanceof ManualClock) expect(this.clock.pendingTimers, "timers left").to.equal(0);
  }
}

export function partsOf(topic: string): { namespace: string; name: string } {
  const [namespace = "", name = ""] = topic.split("/");
  return { namespace, name };
}
