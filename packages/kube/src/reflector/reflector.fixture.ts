import { createLogger } from "@bunting/runtime";
import { expect } from "chai";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { FaultyApiServer } from "@bunting/test/support/faulty-api-server/index.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import type { ClusterConfig } from "../config/cluster-config.js";
import { fixedCredentials } from "../config/credentials.js";
import type { KubeError } from "../kube-error.js";
import type { ResourceScope } from "../rest/resource.js";
import { RestClient } from "../rest/rest-client.js";
import { Http2Transport } from "../transport/http2-transport.js";
import { Epochs, type Epoch } from "./epochs.js";
import { WatchAdmission } from "./watch-admission.js";
import { Reflector, type ReflectorOptions, type ReflectorShared } from "./reflector.js";
import type { ConsistentRead, ReflectorHandler, RelistReason } from "./reflector-handler.js";
import type { ObjectEvent } from "./watch-event.js";
import { WatchListSupport } from "./watch-list-support.js";

const flagType = { group: "core.openfeature.dev", version: "v1beta1", plural: "featureflags" };
export const wide: ResourceScope = { type: flagType, namespace: "ns" };

export function objectScope(name: string): ResourceScope {
  return { type: flagType, namespace: "ns", name };
}

export function clusterOf(api: FaultyApiServer): ClusterConfig {
  return {
    server: new URL(api.url),
    tls: { read: () => Promise.resolve({ ca: api.ca }) },
    credentials: fixedCredentials(),
  };
}

/** A clock that stands still and records the waits that were asked for. */
class WaitingClock extends ManualClock {
  readonly waits: number[] = [];

  override after(delayMs: number, callback: () => void): () => void {
    // Longer timers are those of the silence watchdogs, whose effects are tested.
    if (delayMs <= 30_000) this.waits.push(delayMs);
    return super.after(delayMs, callback);
  }
}

/** Records its calls: `read`, `add a@2`, `remove a`, `complete 2`, `ADDED a@3`, `resumed`, `failed CODE`. */
class RecordingHandler implements ReflectorHandler {
  readonly events = new EventQueue<string>();
  readonly reported: string[] = [];
  readonly errors: KubeError[] = [];
  readonly epochs: Epoch[] = [];
  /** What a test does, or throws, on a call. */
  onReported: (what: string) => void = () => undefined;

  beginRead(): ConsistentRead {
    this.#tell("read");
    return {
      add: ({ metadata }, resourceVersion) => this.#tell(`add ${metadata.name}@${resourceVersion}`),
      remove: ({ metadata }) => this.#tell(`remove ${metadata.name}`),
      complete: (resourceVersion, epoch) => {
        this.epochs.push(epoch);
        this.#tell(`complete ${resourceVersion}`);
      },
    };
  }

  event({ type, object, resourceVersion }: ObjectEvent, epoch: Epoch): void {
    this.epochs.push(epoch);
    this.#tell(`${type} ${object.metadata.name}@${resourceVersion}`);
  }

  resumed(): void {
    this.#tell("resumed");
  }

  interrupted(): void {
    // What follows says the same.
  }

  failed(error: KubeError): void {
    this.errors.push(error);
    this.#tell(`failed ${error.code}`);
  }

  next(): Promise<string> {
    return this.events.nextEvent("a report");
  }

  async expectNext(...expected: readonly string[]): Promise<void> {
    for (const [index, what] of expected.entries()) {
      expect(await this.next(), `after ${expected.slice(0, index).join(", ")}`).to.equal(what);
    }
  }

  until(what: string): Promise<string> {
    return this.events.nextMatching((event) => event === what, what);
  }

  #tell(what: string): void {
    this.reported.push(what);
    this.events.push(what);
    this.onReported(what);
  }
}

/** A reflector that runs, and the way to end it. */
export interface RunningReflector {
  readonly reflector: Reflector;
  readonly handler: RecordingHandler;
  readonly running: Promise<void>;
  readonly stop: () => Promise<void>;
}

/** What reflectors of one type share, before an API server that fails on command. */
export class ReflectorBench {
  readonly api: FaultyApiServer;
  readonly transport: Http2Transport;
  readonly clock = new WaitingClock();
  readonly relists: RelistReason[] = [];
  readonly newEpochs: Epoch[] = [];
  readonly lines: string[] = [];
  readonly shared: ReflectorShared;
  readonly admission: WatchAdmission;
  readonly #running: RunningReflector[] = [];

  private constructor(api: FaultyApiServer, slots: number) {
    this.api = api;
    // Time on the network is real; the manual clock is only for what the reflector itself waits for.
    this.transport = new Http2Transport(clusterOf(api));
    this.admission = new WatchAdmission({ clock: this.clock, slots: slots });
    const logger = createLogger(
      { format: "json", debug: true },
      { write: (line) => void this.lines.push(line) },
    );
    this.shared = {
      client: new RestClient(this.transport),
      epochs: new Epochs((epoch) => this.newEpochs.push(epoch)),
      admission: this.admission,
      watchList: new WatchListSupport(this.clock),
      context: {
        clock: this.clock,
        logger,
        metrics: {
          relist: (reason) => this.relists.push(reason),
          event: () => undefined,
          error: () => undefined,
        },
      },
      timeoutSeconds: 3_600,
      random: () => 1,
    };
  }

  static async start(slots = 20): Promise<ReflectorBench> {
    return new ReflectorBench(await FaultyApiServer.start(), slots);
  }

  run(options: Partial<ReflectorOptions> = {}): RunningReflector {
    const handler = new RecordingHandler();
    const scope = options.scope ?? wide;
    const reflector = new Reflector({
      ...this.shared,
      scope,
      handler,
      resumesAfterClose: scope.name === undefined,
      ...options,
    });
    const abort = new AbortController();
    const running = reflector.run(abort.signal);
    const started = {
      reflector,
      handler,
      running,
      stop: async (): Promise<void> => {
        abort.abort();
        await running;
      },
    };
    this.#running.push(started);
    return started;
  }

  /** The query of each list and watch that was asked for, without the page size and the timeout. */
  get queries(): string[] {
    return this.api.requests.map(({ kind, query }) => {
      const from = query.get("resourceVersion");
      return `${kind}${from === null ? "" : ` from ${from}`}${query.has("continue") ? " continued" : ""}`;
    });
  }

  /** The n-th wait, once it has begun. */
  async nextWait(index: number): Promise<number> {
    await eventually(() => this.clock.waits.length > index, `wait ${index + 1}`);
    return this.clock.waits[index] ?? NaN;
  }

  /** Lets the n-th wait pass. */
  async passWait(index: number): Promise<number> {
    const wait = await this.nextWait(index);
    this.clock.advance(wait);
    return wait;
  }

  async requested(count: number): Promise<void> {
    await eventually(() => this.api.requests.length >= count, `${count} requests`);
  }

  /** Ends everything; then nothing may be left: no timer, no slot of the admission, no stream. */
  async stop(): Promise<void> {
    await Promise.all(this.#running.map((each) => each.stop()));
    expect(this.clock.pendingTimers, "timers left").to.equal(0);
    expect(this.admission.inUse, "slots in use").to.equal(0);
    for (const { reflector } of this.#running) {
      expect(reflector.isSynced).to.equal(false);
      expect(reflector.watch).to.equal(undefined);
    }
    await eventually(() => this.api.watches().length === 0, "all watches closed");
    // In this order: the server may take long to notice a connection that its client has just closed.
    await this.api.close();
    await this.transport.close();
  }
}
