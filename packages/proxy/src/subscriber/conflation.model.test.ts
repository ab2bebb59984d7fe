import { expect } from "chai";
import fc from "fast-check";
import { encodeDocument, syncV1, type FlagDocument, type TopicKey } from "@bunting/protocol";
import { callWriteListener } from "@bunting/http2";
import type {
  CloseListener,
  ResponseStream,
  RpcStatus,
  TransportSession,
  TransportStream,
  WriteListener,
} from "@bunting/rpc";
import { createLogger } from "@bunting/runtime";
import { expectSubsequence } from "@bunting/test/support/expect-subsequence.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { noMetrics, type ProxyMetrics } from "../proxy-metrics.js";
import { FanOut } from "../topic/fan-out.js";
import { TopicRegistry } from "../topic/topic-registry.js";
import type { TopicPolicies } from "../topic/topic-options.js";
import { SubscriberStream } from "./subscriber-stream.js";

const key: TopicKey = "demo/flags";
const lingerMs = 30_000;
const graceMs = 60_000;
const silent = createLogger({ format: "json", debug: false }, { write: () => undefined });

/** What the event loop would do later; the model chooses when. */
class Tasks {
  readonly #tasks: (() => void)[] = [];

  add(task: () => void): void {
    this.#tasks.push(task);
  }

  run(count: number): void {
    for (let i = 0; i < count; i++) this.#tasks.shift()?.();
  }

  runAll(): void {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) task();
  }
}

/**
 * The far end of a stream, which reads or does not as the model says: a source of faults. Takes one frame at a time and fails the
 * test if it is given a second one meanwhile.
 */
class Peer implements ResponseStream {
  readonly got: string[] = [];
  readonly stream: TransportStream;
  readonly signal = new AbortController().signal;
  readonly deadlineMs = undefined;
  status: RpcStatus | undefined;
  isOpen = true;
  isStalled = false;
  readonly #tasks: Tasks;
  #isWriteDue = false;
  #onWritten: WriteListener | undefined;
  #onAck: (() => void) | undefined;
  readonly #onClose: CloseListener[] = [];

  constructor(tasks: Tasks, peerWindowBytes: number) {
    this.#tasks = tasks;
    const session = {
      remoteAddress: "192.0.2.1",
      peerWindowBytes,
      ping: (onAck: () => void) => this.#ping(onAck),
    };
    this.stream = { session: session as unknown as TransportSession } as TransportStream;
  }

  header(): undefined {
    return undefined;
  }

  sendHeaders(): void {
    // They are always read.
  }

  write(): void {
    throw new Error("a frame of its own");
  }

  writeShared(frame: Uint8Array, onWritten?: WriteListener): void {
    if (!this.isOpen || this.status !== undefined) {
      this.#tasks.add(() => callWriteListener(onWritten, new Error("the stream has ended")));
      return;
    }
    if (this.#onWritten !== undefined) throw new Error("a second frame was written while one was in flight");
    this.got.push(syncV1.SyncFlagsResponse.decode(frame.subarray(5)).flagConfiguration);
    this.#onWritten = onWritten;
    this.#scheduleWrite();
  }

  end(status: RpcStatus): void {
    this.status ??= status;
  }

  fail(error: unknown): void {
    throw error;
  }

  onClose(listener: CloseListener): void {
    this.#onClose.push(listener);
  }

  resume(): void {
    this.isStalled = false;
    this.#scheduleWrite();
    this.#scheduleAck();
  }

  cancel(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    const onWritten = this.#onWritten;
    this.#onWritten = undefined;
    callWriteListener(onWritten, new Error("the stream has ended"));
    for (const one of this.#onClose)
      if (typeof one === "function") one();
      else one.onClosed();
    this.#scheduleAck();
  }

  #scheduleWrite(): void {
    if (this.#isWriteDue) return;
    this.#isWriteDue = true;
    this.#tasks.add(() => {
      this.#isWriteDue = false;
      const onWritten = this.#onWritten;
      if (this.isStalled || onWritten === undefined) return;
      this.#onWritten = undefined;
      callWriteListener(onWritten);
    });
  }

  #ping(onAck: () => void): boolean {
    if (this.#onAck !== undefined) throw new Error("a second PING was sent while one was outstanding");
    this.#onAck = onAck;
    this.#scheduleAck();
    return true;
  }

  #scheduleAck(): void {
    this.#tasks.add(() => {
      const onAck = this.#onAck;
      if ((this.isStalled && this.isOpen) || onAck === undefined) return;
      this.#onAck = undefined;
      onAck();
    });
  }
}

type Command =
  | { readonly kind: "publish"; readonly version: number }
  | { readonly kind: "delete" | "stale" | "missing" }
  | { readonly kind: "subscribe"; readonly hasLargeWindow: boolean }
  | { readonly kind: "cancel" | "stall" | "resume"; readonly which: number }
  | { readonly kind: "tasks"; readonly count: number }
  | { readonly kind: "advance"; readonly ms: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  // Few versions, so that equal ones follow each other directly or soon.
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("publish" as const), version: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.constant({ kind: "delete" as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("stale" as const, "missing" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("subscribe" as const), hasLargeWindow: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("cancel" as const, "stall" as const, "stall" as const, "resume" as const),
      which: fc.nat(20),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("tasks" as const), count: fc.integer({ min: 1, max: 6 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("advance" as const),
      ms: fc.constantFrom(10, lingerMs, graceMs),
    }),
  },
);

function document(version: number): FlagDocument {
  return { flags: { f: { state: `v${version}` } } };
}

const emptyText = encodeDocument({ flags: {} });

/** Runs the commands against the real registry, topics, subscriptions and streams, and remembers what it did to them. */
class Model {
  readonly tasks = new Tasks();
  readonly clock = new ManualClock();
  readonly source = new ScriptedSource(this.clock, false);
  readonly topics: TopicRegistry;
  /** Everything that was ever to be served, in order. */
  readonly history: string[] = [];
  readonly peers: { readonly peer: Peer; readonly since: number }[] = [];
  exists = false;
  counts = { active: 0, held: 0, topics: 0 };
  readonly #metrics: ProxyMetrics;
  readonly #policies: TopicPolicies;

  constructor(policies: TopicPolicies) {
    this.#policies = policies;
    this.#metrics = {
      ...noMetrics,
      activeStreams: (delta) => (this.counts.active += delta),
      heldSubscribers: (delta) => (this.counts.held += delta),
      topics: (_state, delta) => (this.counts.topics += delta),
    };
    this.topics = new TopicRegistry({
      ...policies,
      source: this.source,
      context: { clock: this.clock, logger: silent, metrics: this.#metrics },
      lingerMs,
      fanOut: new FanOut({ stepsPerTurn: 2, nextTurn: (callback) => this.tasks.add(callback) }),
    });
  }

  get connected(): Peer[] {
    return this.peers.map(({ peer }) => peer).filter((peer) => peer.isOpen && peer.status === undefined);
  }

  /** What a subscriber of a deleted document may have taken last. */
  get lastWords(): (string | undefined)[] {
    const last = this.history.findLast((text) => text !== emptyText);
    return this.#policies.deletionPolicy === "empty" ? [last, emptyText] : [last];
  }

  run(one: Command): void {
    switch (one.kind) {
      case "publish":
        this.exists = true;
        this.history.push(encodeDocument(document(one.version)));
        this.source.publish(key, document(one.version));
        break;
      case "delete":
        // Also what never existed here: agents may hold flags that another replica served before it learnt of the deletion.
        if (this.#policies.deletionPolicy === "empty" && this.history.at(-1) !== emptyText)
          this.history.push(emptyText);
        this.exists = false;
        this.source.delete(key);
        break;
      case "stale":
        this.source.stale(key, new Error("away"));
        break;
      case "missing":
        if (!this.exists) this.source.missing(key);
        break;
      case "subscribe":
        this.#subscribe(one.hasLargeWindow);
        break;
      case "tasks":
        this.tasks.run(one.count);
        break;
      case "advance":
        this.clock.advance(one.ms);
        break;
      default:
        this.#disturb(one.kind, this.peers[one.which % Math.max(1, this.peers.length)]?.peer);
    }
  }

  #subscribe(hasLargeWindow: boolean): void {
    const peer = new Peer(this.tasks, hasLargeWindow ? 1_000_000 : 65_535);
    const stream = new SubscriberStream(
      {
        frameOf: (snapshot) => snapshot.syncFrame,
        statusOf: ({ message }) => ({ code: "NOT_FOUND", message }),
        clock: this.clock,
        metrics: this.#metrics,
      },
      peer,
    );
    // What may come first is the last document there was: if it is deleted, it is served while the grace lasts.
    const since = Math.max(
      0,
      this.history.findLastIndex((text) => text !== emptyText),
    );
    const watches = this.source.watchCounts.get(key);
    try {
      stream.open(this.topics.subscribe(key, stream));
    } catch {
      return;
    }
    this.peers.push({ peer, since });
    // A new watch reports the current state.
    if (this.source.watchCounts.get(key) !== watches) this.source.repeat(key);
  }

  #disturb(kind: "cancel" | "stall" | "resume", peer: Peer | undefined): void {
    if (kind === "cancel") peer?.cancel();
    else if (kind === "resume") peer?.resume();
    else if (peer !== undefined) peer.isStalled = true;
  }
}

describe("topics, subscriptions and streams together", () => {
  const policies: fc.Arbitrary<TopicPolicies> = fc.record({
    missingPolicy: fc.constantFrom("hold" as const, "fail" as const),
    deletionGraceMs: fc.constant(graceMs),
    deletionPolicy: fc.constantFrom("keep" as const, "empty" as const, "close" as const),
  });

  it("bring every connected subscriber to the last version, by a subsequence of the history, and leave nothing behind", () => {
    fc.assert(
      fc.property(
        policies,
        fc.array(command, { minLength: 10, maxLength: 120, size: "max" }),
        (chosen, commands) => {
          const model = new Model(chosen);
          for (const one of commands) {
            model.run(one);
            expect(model.counts.active).to.equal(model.peers.filter(({ peer }) => peer.isOpen).length);
          }
          for (const { peer } of model.peers) peer.resume();
          model.tasks.runAll();
          for (const peer of model.connected) {
            if (model.exists) expect(peer.got.at(-1)).to.equal(model.history.at(-1));
            else if (peer.got.length > 0) expect(model.lastWords).to.include(peer.got.at(-1));
          }
          for (const { peer, since } of model.peers) {
            expectSubsequence(peer.got, model.history.slice(since));
            peer.got.forEach((text, index) => expect(text).not.to.equal(peer.got[index + 1]));
          }
          // Whatever happened: one more version reaches all that are still connected.
          model.run({ kind: "publish", version: 9 });
          model.tasks.runAll();
          for (const peer of model.connected) expect(peer.got.at(-1)).to.equal(model.history.at(-1));

          for (const { peer } of model.peers) peer.cancel();
          model.tasks.runAll();
          model.clock.advance(lingerMs + graceMs);
          model.tasks.runAll();
          expect(model.topics.size).to.equal(0);
          expect(model.source.watchCount).to.equal(0);
          expect(model.clock.pendingTimers).to.equal(0);
          expect(model.counts).to.deep.equal({ active: 0, held: 0, topics: 0 });
        },
      ),
      { numRuns: 250 },
    );
  });
});
