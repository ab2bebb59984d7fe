import { expect } from "chai";
import type { FlagDocument, TopicKey } from "@bunting/protocol";
import type { TransportSession } from "@bunting/rpc";
import { createLogger, type Logger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { ProxyError } from "../proxy-error.js";
import { noMetrics } from "../proxy-metrics.js";
import { firstSnapshot } from "./first-snapshot.js";
import type { SourceSink } from "../source/flag-source.js";
import { DocumentLedger } from "./document-ledger.js";
import type { Subscriber, Subscription } from "./subscription.js";
import { TopicRegistry, type TopicRegistryOptions } from "./topic-registry.js";

const lingerMs = 30_000;
const key: TopicKey = "demo/flags";
const one: FlagDocument = { flags: { f: { state: "v1" } } };
const two: FlagDocument = { flags: { f: { state: "v2" } } };
const noWork: Subscriber = { wake: () => undefined, refuse: () => undefined };

function useRegistry({
  logger = createLogger({ format: "json", debug: false }, { write: () => undefined }),
  ...options
}: Partial<TopicRegistryOptions> & { readonly logger?: Logger } = {}) {
  const clock = new ManualClock();
  const source = new ScriptedSource(clock);
  const topics = new TopicRegistry({
    source,
    context: { clock, logger, metrics: noMetrics },
    lingerMs,
    missingPolicy: "hold",
    deletionGraceMs: 60_000,
    deletionPolicy: "keep",
    ...options,
  });
  return { clock, source, topics };
}

/** Lets the source answer new watches. */
const answered = (): Promise<void> => Promise.resolve();

function textOf(subscription: Subscription): string | undefined {
  const { due } = subscription;
  if (due !== undefined) subscription.take(due);
  return due?.text;
}

describe("the topic registry", () => {
  it("opens one watch for each topic, however many subscribe", async () => {
    const { source, topics } = useRegistry();
    source.publish(key, one);
    const subscriptions = Array.from({ length: 10 }, () => topics.subscribe(key, noWork));
    topics.subscribe("demo/other", noWork);
    await answered();
    expect([...source.watchCounts.values()]).to.deep.equal([1, 1]);
    for (const subscription of subscriptions) expect(textOf(subscription)).to.include("v1");
  });

  it("tells the source apart who asks: by address, or by connection where an address may be that of many", () => {
    const { source, topics } = useRegistry();
    const connection = (remoteAddress: string): TransportSession => ({ remoteAddress }) as TransportSession;
    const peer = (topic: TopicKey, from: TransportSession): unknown => {
      topics.subscribe(topic, { ...noWork, connection: from });
      return source.peers.get(topic);
    };
    expect(peer("demo/a", connection("192.0.2.1"))).to.equal(peer("demo/b", connection("192.0.2.1")));
    const mesh = connection("127.0.0.6");
    const ofMesh = peer("demo/c", mesh);
    expect(peer("demo/d", mesh)).to.equal(ofMesh);
    expect(peer("demo/e", connection("127.0.0.6"))).not.to.equal(ofMesh);
    topics.refresh("demo/a", () => undefined, mesh);
    expect(source.peers.get("demo/a")).to.equal(ofMesh);
  });

  it("ends subscribers that have lost their reason before a version is theirs to take, and spares the others", async () => {
    const error = new ProxyError("PERMISSION_DENIED", "it is not shared");
    const refused: unknown[] = [];
    const lost: Subscriber = { wake: () => expect.fail("woken"), refuse: (why) => refused.push(why) };
    let hasLost = false;
    const { source, topics } = useRegistry({
      lost: () => (hasLost ? [{ error, subscribers: new Set([lost]) }] : []),
    });
    source.publish(key, one);
    const kept = topics.subscribe(key, noWork);
    const ending = topics.subscribe(key, { ...lost, wake: () => undefined });
    await answered();
    expect([textOf(kept), textOf(ending)].every((text) => text?.includes("v1"))).to.equal(true);
    const gone = topics.subscribe(key, lost);
    expect(textOf(gone)).to.include("v1");
    hasLost = true;

    source.publish(key, two);

    expect(refused).to.deep.equal([error]);
    expect(gone.due).to.equal(undefined);
    expect(textOf(kept)).to.include("v2");
  });

  it("leaves nothing behind of a topic whose first version takes the right from all of its subscribers", () => {
    const error = new ProxyError("PERMISSION_DENIED", "it is not shared");
    const states: Record<string, number> = {};
    const clock = new ManualClock();
    const ledger = new DocumentLedger(1_000);
    let refused: ProxyError | undefined;
    const subscriber: Subscriber = { wake: () => undefined, refuse: (why) => (refused = why) };
    const document = (reach?: number) => ({
      kind: "document" as const,
      document: one,
      version: {
        noticedMs: 0,
        ...(reach === undefined ? {} : { trial: { document: two, digest: "ab", reach } }),
      },
    });
    for (const reach of [undefined, 10]) {
      const sinks: SourceSink[] = [];
      const topics = new TopicRegistry(
        {
          source: Object.assign(new ScriptedSource(clock), {
            watch: (_: TopicKey, sink: SourceSink) => void sinks.push(sink),
          }),
          context: {
            clock,
            logger: createLogger({ format: "json", debug: false }, { write: () => undefined }),
            metrics: {
              ...noMetrics,
              topics: (state, delta) => (states[state] = (states[state] ?? 0) + delta),
            },
          },
          lingerMs,
          missingPolicy: "hold",
          deletionGraceMs: 0,
          deletionPolicy: "keep",
          lost: () => [{ error, subscribers: new Set([subscriber]) }],
        },
        ledger,
      );
      topics.subscribe(key, subscriber);
      sinks[0]?.report(document(reach));
      expect(refused).to.equal(error);
      expect(topics.size).to.equal(0);
      expect(states).to.deep.equal({ starting: 0 });
      expect(ledger.hasRoom("demo/other", 600), "all memory is free").to.equal(true);
    }
  });

  it("keeps a deleted topic for the grace without a linger, and sets few timers for it", async () => {
    const { clock, source, topics } = useRegistry({ lingerMs: 0 });
    source.publish(key, one);
    const first = topics.subscribe(key, noWork);
    await answered();
    source.delete(key);
    let timers = 0;
    const after = clock.after.bind(clock);
    clock.after = (delayMs, callback) => {
      if (timers++ > 1_000) throw new Error("timers without end");
      return after(delayMs, callback);
    };
    first.close();
    clock.advance(59_000);
    expect(topics.size).to.equal(1);
    expect(textOf(topics.subscribe(key, noWork))).to.include("v1");
  });

  it("takes for readers those that both the version and the source's own watch name, as far as they are known", async () => {
    const { source, topics } = useRegistry();
    const readers = (known: ReadonlySet<string> | undefined | "unknown"): unknown => {
      const both = topics.readersOf(key, known);
      return typeof both === "object" ? [...both] : both;
    };
    expect(readers(new Set(["a"])), "before the topic").to.deep.equal(["a"]);
    topics.subscribe(key, noWork);
    await answered();
    source.publish(key, one, { readers: new Set(["a", "b"]) });
    expect(readers(new Set(["b", "c"]))).to.deep.equal(["b"]);
    expect(readers("unknown")).to.deep.equal(["a", "b"]);
    expect(readers(undefined)).to.equal(undefined);
    source.publish(key, two);
    expect(readers(new Set(["c"])), "of a version that says nothing").to.deep.equal(["c"]);
  });

  it("keeps an idle topic for a while, then drops it and its watch", async () => {
    const { clock, source, topics } = useRegistry();
    source.publish(key, one);
    const first = topics.subscribe(key, noWork);
    await answered();
    first.close();
    clock.advance(lingerMs - 1);
    const second = topics.subscribe(key, noWork);
    expect(textOf(second)).to.include("v1");
    clock.advance(lingerMs * 2);
    expect(source.watchCount).to.equal(1);
    second.close();
    clock.advance(lingerMs);
    expect(topics.size).to.equal(0);
    expect(source.watchCount).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("creates a dropped topic anew, with a new watch", async () => {
    const { clock, source, topics } = useRegistry();
    source.publish(key, one);
    topics.subscribe(key, noWork).close();
    clock.advance(lingerMs);
    source.publish(key, two);
    const again = topics.subscribe(key, noWork);
    await answered();
    expect(textOf(again)).to.include("v2");
    expect(source.watchCounts.get(key)).to.equal(2);
  });

  it("never wedges a topic whose document does not exist, whenever its subscriber leaves, returns, and the document comes", async () => {
    for (const away of [0, 1, lingerMs - 1, lingerMs, lingerMs * 3]) {
      for (const isMissingKnown of [true, false]) {
        const { clock, source, topics } = useRegistry();
        const left = topics.subscribe(key, noWork);
        if (isMissingKnown) await answered();
        left.close();
        clock.advance(away);
        const returned = topics.subscribe(key, noWork);
        source.publish(key, one);
        await answered();
        expect(textOf(returned)).to.include("v1");
        expect(source.watchCount).to.equal(1);
      }
    }
  });

  it("accepts the next subscriber after the one before was refused, by the missing policy fail", async () => {
    const { clock, source, topics } = useRegistry({ missingPolicy: "fail" });
    topics.subscribe(key, noWork);
    await answered();
    for (let i = 0; i < 20; i++) {
      expect(() => topics.subscribe(key, noWork)).to.throw("does not exist");
      clock.advance(4_000);
    }
    expect(source.watchCounts.get(key)).to.equal(1);
    source.publish(key, one);
    expect(textOf(topics.subscribe(key, noWork))).to.include("v1");
  });

  it("keeps nothing of a topic that never had a document, from when its last subscriber has left", async () => {
    const { clock, source, topics } = useRegistry();
    for (const isMissingKnown of [true, false]) {
      const subscriptions = [topics.subscribe(key, noWork), topics.subscribe(key, noWork)];
      if (isMissingKnown) await answered();
      subscriptions[0]?.close();
      expect(topics.size).to.equal(1);
      subscriptions[1]?.close();
      expect(topics.size).to.equal(0);
      expect(source.watchCount).to.equal(0);
      expect(clock.pendingTimers).to.equal(0);
    }
  });

  it("keeps at most 512 idle topics that refuse subscribers, those that were subscribed to last", async () => {
    const { clock, source, topics } = useRegistry({ missingPolicy: "fail" });
    for (let i = 0; i < 600; i++) {
      topics.subscribe(`demo/guessed-${i}`, noWork);
      await answered();
      expect(() => topics.subscribe("demo/guessed-0", noWork)).to.throw("does not exist");
    }
    await answered();
    expect(topics.size).to.equal(512);
    expect(source.watchCounts.get("demo/guessed-0")).to.equal(1);
    const left = [...topics.topics()].map((topic) => topic.key);
    expect(left).to.include("demo/guessed-0").and.include("demo/guessed-599");
    expect(left).not.to.include("demo/guessed-1");
    clock.advance(lingerMs);
    expect(topics.size).to.equal(0);
    expect(source.watchCount).to.equal(0);
  });

  it("warns of twenty missing documents a minute, and says how many others there were", async () => {
    const lines: string[] = [];
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
    const { clock, topics } = useRegistry({ logger });
    for (let i = 0; i < 50; i++) topics.subscribe(`demo/guessed-${i}`, noWork);
    await answered();
    expect(lines.filter((line) => line.includes("does not exist"))).to.have.length(20);
    clock.advance(60_000);
    topics.subscribe("demo/another", noWork);
    await answered();
    expect(lines.at(-1)).to.include("demo/another").and.include('"suppressedSinceLast":30');
  });

  it("drops an idle topic also if its last subscriber was refused", async () => {
    const { clock, source, topics } = useRegistry({ missingPolicy: "fail" });
    topics.subscribe(key, noWork);
    await answered();
    clock.advance(lingerMs);
    expect(topics.size).to.equal(0);
    expect(source.watchCount).to.equal(0);
  });

  it("keeps an idle topic through its deletion grace: new subscribers get the last snapshot", async () => {
    const { clock, source, topics } = useRegistry();
    source.publish(key, one);
    const first = topics.subscribe(key, noWork);
    await answered();
    source.delete(key);
    first.close();
    clock.advance(59_999);
    expect(textOf(topics.subscribe(key, noWork))).to.include("v1");
  });

  it("drops it when the grace is over and there is no new subscriber", async () => {
    const { clock, source, topics } = useRegistry();
    source.publish(key, one);
    const first = topics.subscribe(key, noWork);
    await answered();
    source.delete(key);
    first.close();
    clock.advance(120_000);
    expect(topics.size).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("ends every topic and watch when it stops, and accepts no subscribers after that", async () => {
    const { clock, source, topics } = useRegistry();
    const abort = new AbortController();
    const running = topics.run(abort.signal);
    const refused: string[] = [];
    topics.subscribe(key, { wake: () => undefined, refuse: (error) => refused.push(error.code) });
    topics.subscribe("demo/idle", noWork).close();
    abort.abort();
    await running;
    expect(refused).to.deep.equal(["SHUTTING_DOWN"]);
    expect(source.watchCount).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
    expect(() => topics.subscribe(key, noWork)).to.throw("shutting down");
  });
});

describe("the first snapshot of a topic", () => {
  const caller = { signal: new AbortController().signal };

  it("is returned at once if the topic has one, without reading the caller's signal", async () => {
    const { clock, source, topics } = useRegistry();
    source.publish(key, one);
    topics.subscribe(key, noWork);
    await answered();
    const noSignal = {
      get signal(): AbortSignal {
        throw new Error("not needed");
      },
    };
    const snapshot = await firstSnapshot(topics, key, { clock, timeoutMs: 5_000, caller: noSignal });
    expect(snapshot.text).to.include("v1");
    expect(clock.pendingTimers).to.equal(0);
  });

  it("is waited for, and the wait leaves nothing behind", async () => {
    const { clock, source, topics } = useRegistry();
    const waiting = firstSnapshot(topics, key, { clock, timeoutMs: 5_000, caller });
    await answered();
    clock.advance(4_999);
    source.publish(key, one);
    expect((await waiting).text).to.include("v1");
    clock.advance(lingerMs);
    expect(topics.size).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("is missing after the timeout", async () => {
    const { clock, topics } = useRegistry();
    const waiting = firstSnapshot(topics, key, { clock, timeoutMs: 5_000, caller });
    clock.advance(5_000);
    const error: unknown = await waiting.catch((reason: unknown) => reason);
    expect(error).to.have.property("code", "TOPIC_MISSING");
  });

  it("is missing at once by the policy fail", async () => {
    const { clock, topics } = useRegistry({ missingPolicy: "fail" });
    const error: unknown = await firstSnapshot(topics, key, { clock, timeoutMs: 5_000, caller }).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.have.property("code", "TOPIC_MISSING");
  });

  it("is not waited for after the caller is gone", async () => {
    const { clock, topics } = useRegistry();
    const abort = new AbortController();
    const waiting = firstSnapshot(topics, key, { clock, timeoutMs: 5_000, caller: abort });
    abort.abort();
    const error: unknown = await waiting.catch((reason: unknown) => reason);
    expect(error).to.have.property("code", "CALLER_GONE");
    clock.advance(lingerMs);
    expect(topics.size).to.equal(0);
  });
});
