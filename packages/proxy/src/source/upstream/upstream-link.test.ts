import { documentHeapBytes } from "@bunting/protocol";
import { createLogger, RateLimitedLog, systemClock, type Clock, type Logger } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FastClock } from "@bunting/test/support/fast-clock.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import {
  dribble,
  encode,
  HostileSyncServer,
  onSubscribe,
  open,
  refuse,
  snapshot,
  versionWith,
} from "@bunting/test/support/hostile-sync-server.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import type { ServerHttp2Stream } from "node:http2";
import { noMetrics } from "../../proxy-metrics.js";
import { RecordingSink } from "../source.fixture.js";
import { TierPath } from "./tier-path.js";
import { UpstreamLink } from "./upstream-link.js";
import { LargeDocuments } from "../large-documents.js";
import { UpstreamTopic } from "./upstream-topic.js";

const name = "team-a/checkout";
const credentials = { isTls: false, certPath: "", clientCertPath: "", clientKeyPath: "", tokenFile: "" };
const flags = { f: { state: "ENABLED" } };
const silentLogger = loggerTo([]);

const serveFlags = (stream: ServerHttp2Stream): void => {
  open(stream);
  onSubscribe(stream, ({ topic }) => stream.write(snapshot(topic, flags)));
};

describe("UpstreamLink", () => {
  // A second takes 40 ms: with less, an answer that a busy machine takes a while for would come after the 30 s that a link waits for one.
  const clock = new FastClock(25);
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  async function listen(serve: (stream: ServerHttp2Stream) => void): Promise<string> {
    const server = new HostileSyncServer(serve);
    cleanUps.push(() => server.stop());
    return server.listen();
  }

  /** What the heap has for documents. */
  const room = { freeBytes: 1_000_000_000, has: (bytes: number): boolean => bytes <= room.freeBytes };

  /** A link that begins with the first of these, and a topic of it. Returns its failures, by reason. */
  function follow(
    targets: readonly string[],
    log = logTo([]),
    linkClock: Clock = clock,
  ): { readonly sink: RecordingSink; readonly failures: string[]; readonly tierPath: TierPath } {
    const failures: string[] = [];
    const tierPath = new TierPath(linkClock);
    const link = new UpstreamLink({
      ...{ targets, credentials, tierPath },
      context: {
        ...{ clock: linkClock, log, logger: silentLogger },
        metrics: { ...noMetrics, upstreamFailed: (reason) => void failures.push(reason) },
      },
      onOpened: () => undefined,
      random: () => 0,
    });
    const sink = new RecordingSink();
    link.add(new UpstreamTopic(name, sink, linkClock, { room, large: new LargeDocuments() }));
    const abort = new AbortController();
    const ended = link.run(abort.signal);
    cleanUps.push(() => {
      abort.abort();
      return ended;
    });
    return { sink, failures, tierPath };
  }

  function logTo(lines: string[]): RateLimitedLog {
    return new RateLimitedLog(loggerTo(lines), clock);
  }

  const served = (sink: RecordingSink): boolean => sink.lastText !== undefined;

  it("asks once more for a document that there was no room for, as soon as there is", async () => {
    let subscriptions = 0;
    const upstream = await listen((stream) => {
      open(stream);
      onSubscribe(stream, ({ topic }) => {
        subscriptions++;
        stream.write(snapshot(topic, flags));
      });
    });
    const lines: string[] = [];
    room.freeBytes = 100;
    const { sink } = follow([upstream], logTo(lines));
    await eventually(() => lines.some((line) => line.includes("of heap")), "a document that is refused");
    expect([served(sink), subscriptions]).to.deep.equal([false, 1]);
    room.freeBytes = 1_000_000_000;
    await eventually(() => served(sink), "the document");
    expect(subscriptions).to.equal(2);
  });

  it("asks once more for a version to try that there was no room for, once there is", async () => {
    const tried = Buffer.from(JSON.stringify({ flags: { f: { state: "x".repeat(10_000) } } }));
    const trial = { digest: Buffer.alloc(32, 2), generation: "2", reach: 10, document: tried };
    let say: (proxy: string) => void = () => undefined;
    const upstream = await listen((stream) => {
      open(stream);
      say = (proxy) => void stream.write(encode({ $case: "tier", value: { proxies: [proxy], depth: 1 } }));
      onSubscribe(stream, ({ topic }) => {
        stream.write(snapshot(topic, flags));
        stream.write(encode({ $case: "trial", value: { topic, ...trial } }));
        say("after");
      });
    });
    room.freeBytes = documentHeapBytes(tried) - 1;
    const manual = new ManualClock();
    const { sink, tierPath, failures } = follow([upstream], logTo([]), manual);
    const isTried = (): boolean =>
      sink.events.some((event) => event.kind === "document" && event.version.trial !== undefined);
    const hears = (proxy: string): Promise<void> =>
      eventually(() => tierPath.tier.proxies.includes(proxy), proxy);
    await hears("after");
    expect([served(sink), isTried()]).to.deep.equal([true, false]);
    room.freeBytes = 1_000_000_000;
    manual.advance(20_000);
    say("later");
    await hears("later");
    manual.advance(10_000);
    await eventually(isTried, "the trial");
    expect(failures).to.deep.equal([]);
  });

  it("stops at once, also while it reads the file of its token", async () => {
    const directory = new TempDirectory();
    cleanUps.push(() => directory.remove());
    directory.replace("token", "abc");
    const upstream = await listen(serveFlags);
    const link = new UpstreamLink({
      targets: [upstream],
      credentials: { ...credentials, tokenFile: directory.file("token") },
      tierPath: new TierPath(systemClock),
      context: { clock: systemClock, log: logTo([]), logger: silentLogger, metrics: noMetrics },
      onOpened: () => undefined,
    });
    const abort = new AbortController();
    let hasStopped = false;
    const ended = link.run(abort.signal).then(() => (hasStopped = true));
    abort.abort();
    await eventually(() => hasStopped, "the end");
    await ended;
  });

  it("takes what comes after a large document after it, in order", async () => {
    const many = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`flag-${index}`, flags.f]));
    const upstream = await listen((stream) => {
      open(stream);
      onSubscribe(stream, ({ topic }) => {
        stream.write(snapshot(topic, many, { digest: Buffer.alloc(32, 1) }));
        for (const last of [2, 3])
          stream.write(
            snapshot(topic, { last: { state: String(last) } }, { digest: Buffer.alloc(32, last) }),
          );
      });
    });
    const { sink, failures } = follow([upstream], logTo([]), systemClock);
    await eventually(() => sink.lastText?.includes('"3"') === true, "the last document");
    const texts = sink.events.flatMap((event) => (event.kind === "document" ? event.text.length : []));
    expect(texts.map((length) => length > 1_000_000)).to.deep.equal([true, false, false]);
    expect(failures).to.deep.equal([]);
  });

  it("goes on with the next upstream when one sends heartbeats, and never what a topic is", async () => {
    const silent = await listen((stream) => {
      open(stream).resume();
      const timer = setInterval(() => stream.write(encode({ $case: "heartbeat", value: {} })), 50);
      stream.once("close", () => clearInterval(timer));
    });
    const { sink, failures } = follow([silent, await listen(serveFlags)]);
    await eventually(() => served(sink), "the flags of the other one");
    expect(failures).to.deep.equal(["unanswered"]);
  });

  it("waits for a large document as long as it is arriving: over a slow link it takes minutes", async () => {
    const still = new ManualClock();
    const large = { f: { state: "x".repeat(600_000) } };
    const upstream = await listen((stream) => {
      open(stream);
      onSubscribe(
        stream,
        ({ topic }) => void dribble(stream, snapshot(topic, large), () => still.advance(30_000)),
      );
    });
    const { sink, failures } = follow([upstream], logTo([]), still);
    await eventually(() => served(sink), "the document");
    expect(failures).to.deep.equal([]);
  });

  it("is fed by the proxies that an upstream names as long as its connection lasts: they may follow this one afterwards", async () => {
    let end = (): void => undefined;
    let isOver = false;
    const value = { proxies: ["another"], depth: 1 };
    const target = await listen((stream) => {
      if (isOver) {
        refuse(stream, 14);
        return;
      }
      open(stream).write(encode({ $case: "tier", value }));
      end = () => void stream.end();
    });
    const { failures, tierPath } = follow([target]);
    const isFed = (): boolean => tierPath.tier.proxies.includes("another");
    await eventually(isFed, "its tier");
    isOver = true;
    end();
    await eventually(() => failures.includes("unavailable"), "that it is refused");
    await eventually(() => !isFed(), "that it feeds nothing any more");
  });

  it("goes on with the next upstream when the deltas of one never lead to what it says", async () => {
    const digest = Buffer.alloc(32, 1);
    const value = {
      topic: name,
      fromDigest: digest,
      version: versionWith({ digest: Buffer.alloc(32, 2), resourceVersion: "2" }),
      flags: [],
    };
    const wrong = await listen((stream) => {
      open(stream);
      onSubscribe(stream, ({ topic }) => {
        stream.write(snapshot(topic, flags, { digest }));
        for (let times = 0; times < 5; times++) stream.write(encode({ $case: "delta", value }));
      });
    });
    const right = await listen((stream) => {
      open(stream);
      onSubscribe(stream, ({ topic }) => stream.write(snapshot(topic, { g: { state: "DISABLED" } })));
    });
    const { sink, failures } = follow([wrong, right]);
    await eventually(() => sink.lastText?.includes("DISABLED") === true, "the flags of the other one");
    expect(failures).to.deep.equal(["mismatch"]);
  });

  it("does not ask twice on a new stream for a topic that was refused on the one before", async () => {
    let streams = 0;
    let subscriptions = 0;
    let answer = (): void => undefined;
    const target = await listen((stream) => {
      const isFirst = ++streams === 1;
      open(stream);
      onSubscribe(stream, ({ topic }) => {
        if (!isFirst) {
          subscriptions++;
          answer = () => void stream.write(snapshot(topic, flags));
          return;
        }
        const value = { topic, code: 14, message: "later", retryAfterMs: 10_000 };
        stream.write(encode({ $case: "topicError", value }), () => stream.close(7));
      });
    });
    const { sink } = follow([target]);
    await eventually(() => subscriptions > 0, "a second stream");
    const againMs = clock.monotonicMs() + 12_000;
    await eventually(
      () => clock.monotonicMs() > againMs,
      "the time at which it would have asked on the first",
    );
    answer();
    await eventually(() => served(sink), "its flags");
    expect(subscriptions).to.equal(1);
  });

  it("asks again soon, whatever time an upstream names", async () => {
    let streams = 0;
    const target = await listen((stream) => {
      if (++streams > 1) serveFlags(stream);
      else refuse(stream, 14, { "grpc-retry-pushback-ms": "999999999" });
    });
    const { sink, failures } = follow([target]);
    await eventually(() => served(sink), "its flags");
    expect(failures).to.deep.equal(["unavailable"]);
  });

  it("writes few lines about an upstream that accepts each stream and ends it, however many connections it has", async () => {
    const target = await listen((stream) => {
      open(stream).end();
    });
    const lines: string[] = [];
    const log = logTo(lines);
    const startedMs = clock.monotonicMs();
    const links = Array.from({ length: 10 }, () => follow([target], log));
    await eventually(() => links.every(({ failures }) => failures.length >= 10), "a hundred streams");
    const minutes = Math.ceil((clock.monotonicMs() - startedMs) / 60_000);
    expect(lines.length).to.be.within(2, 40 * minutes);
  });
});

function loggerTo(lines: string[]): Logger {
  return createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
}
