import { expect } from "chai";
import type { FlagDocument } from "@bunting/protocol";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ProxyError } from "../proxy-error.js";
import { noMetrics, type ProxyMetrics } from "../proxy-metrics.js";
import type { SourceVersion } from "../source/flag-source.js";
import { DocumentLedger } from "./document-ledger.js";
import { FanOut } from "./fan-out.js";
import { standing } from "./topic-state.js";
import type { Subscription } from "./subscription.js";
import type { LostSubscribers, TopicPolicies } from "./topic-options.js";
import { Topic } from "./topic.js";

const graceMs = 60_000;
const defaults: TopicPolicies = { missingPolicy: "hold", deletionGraceMs: graceMs, deletionPolicy: "keep" };

/** A document that names its version. */
function version(number: number | "empty"): FlagDocument {
  return number === "empty" ? { flags: {} } : { flags: { f: { state: `v${number}` } } };
}

function useTopic(
  policies: Partial<TopicPolicies> = {},
  stepsPerTurn = 256,
  ledger = new DocumentLedger(),
  lost?: LostSubscribers,
) {
  const clock = new ManualClock();
  const turns: (() => void)[] = [];
  const lines: string[] = [];
  const counts = {
    held: 0,
    topics: {} as Record<string, number>,
    conflated: 0,
    converged: [] as [number, number][],
  };
  const metrics: ProxyMetrics = {
    ...noMetrics,
    heldSubscribers: (delta) => (counts.held += delta),
    topics: (state, delta) => (counts.topics[state] = (counts.topics[state] ?? 0) + delta),
    conflated: (snapshots = 1) => (counts.conflated += snapshots),
    converged: (share, ms) => counts.converged.push([share, ms]),
  };
  let idle = 0;
  const logger = createLogger({ format: "json", debug: false }, { write: (line) => lines.push(line) });
  const topic = new Topic({
    ...defaults,
    ...policies,
    key: "demo/flags",
    ledger,
    lost,
    fanOut: new FanOut({ stepsPerTurn, nextTurn: (callback) => turns.push(callback) }),
    context: { clock, logger, log: new RateLimitedLog(logger, clock), metrics },
    onIdle: () => idle++,
    onRoom: () => undefined,
  });
  return {
    topic,
    clock,
    counts,
    logged: (level: string) => lines.filter((line) => line.includes(`"level":"${level}"`)),
    get idle() {
      return idle;
    },
    tell: (number: number | "empty") =>
      topic.report({
        kind: "document",
        document: version(number),
        version: { noticedMs: clock.monotonicMs(), resourceVersion: String(number) },
      }),
    turn: () => {
      const callback = turns.shift();
      callback?.();
      return callback !== undefined;
    },
  };
}

/** Takes each snapshot it is woken for unless it is slow, and records it. */
class Reader {
  readonly got: string[] = [];
  refusal: ProxyError | undefined;
  isSlow = false;
  readonly subscription: Subscription;

  constructor(topic: Topic) {
    this.subscription = topic.subscribe(this);
    this.wake();
  }

  wake(): void {
    if (!this.isSlow) this.read();
  }

  read(): void {
    // As a stream does: takes until there is nothing newer.
    for (let one = this.subscription.due; one !== undefined; one = this.subscription.due) {
      this.subscription.take(one);
      this.got.push(/v\d+/.exec(one.text)?.[0] ?? "empty");
    }
    this.subscription.settle();
  }

  refuse(error: ProxyError): void {
    this.refusal = error;
  }
}

describe("a topic", () => {
  it("holds subscribers until its document exists, and gives it to them once", () => {
    const { topic, tell, counts } = useTopic();
    const early = new Reader(topic);
    expect(topic.state.kind).to.equal("starting");
    topic.report({ kind: "missing" });
    const later = new Reader(topic);
    expect(topic.state.kind).to.equal("missing");
    expect(counts.held).to.equal(2);
    new Reader(topic).subscription.close();
    expect(counts.held).to.equal(2);
    tell(1);
    expect(topic.state.kind).to.equal("live");
    expect(counts.held).to.equal(0);
    tell(1);
    const last = new Reader(topic);
    for (const reader of [early, later, last]) expect(reader.got).to.deep.equal(["v1"]);
  });

  it("warns once that a document does not exist, and names it", () => {
    const { topic, logged } = useTopic();
    new Reader(topic);
    topic.report({ kind: "missing" });
    topic.report({ kind: "missing" });
    topic.report({ kind: "stale", reason: new Error("away") });
    topic.report({ kind: "missing" });
    const warnings = logged("warn").filter((line) => line.includes("does not exist"));
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.include('"topic":"demo/flags"');
  });

  it("refuses held and new subscribers while the document is missing, by the policy fail", () => {
    const { topic, tell, turn } = useTopic({ missingPolicy: "fail" });
    const early = new Reader(topic);
    expect(early.refusal).to.be.undefined;
    topic.report({ kind: "missing" });
    while (turn());
    expect(early.refusal).to.have.property("code", "TOPIC_MISSING");
    expect(topic.size).to.equal(0);
    expect(() => new Reader(topic)).to.throw("the FeatureFlag demo/flags does not exist");
    tell(1);
    expect(new Reader(topic).got).to.deep.equal(["v1"]);
  });

  it("does not send an equal document again, but keeps the new version of its object", () => {
    const { topic, counts } = useTopic();
    const reader = new Reader(topic);
    for (const [uid, resourceVersion] of [
      ["a", "1"],
      ["b", "2"],
    ] as const)
      topic.report({
        kind: "document",
        document: version(1),
        version: { noticedMs: 0, uid, resourceVersion },
      });
    expect(reader.got).to.deep.equal(["v1"]);
    expect(topic.sequence).to.equal(1);
    expect(topic.newest?.version).to.deep.equal({ noticedMs: 0, uid: "b", resourceVersion: "2" });
    expect(counts.conflated).to.equal(0);
  });

  it("serves a document of more than the 4 MiB that most clients accept, and warns of it", () => {
    const { topic, logged } = useTopic();
    const document = { flags: { f: { state: "x".repeat(4 * 1024 * 1024) } } };
    topic.report({ kind: "document", document, version: { noticedMs: 0 } });
    expect(logged("warn")).to.have.length(1);
    expect(logged("warn")[0]).to.include("4 MiB").and.include("demo/flags");
    expect(new Reader(topic).got).to.have.length(1);
  });

  it("keeps serving while the source is stale, and is live again with its next document", () => {
    const { topic, tell, counts } = useTopic();
    tell(1);
    topic.report({ kind: "stale", reason: new Error("away") });
    topic.report({ kind: "stale", reason: new Error("still away") });
    expect(topic.state.kind).to.equal("stale");
    expect(new Reader(topic).got).to.deep.equal(["v1"]);
    tell(1);
    expect(topic.state.kind).to.equal("live");
    expect(counts.topics).to.deep.equal({ starting: 0, live: 1, stale: 0 });
  });

  it("takes over the version of an object whose document is the same, and sends nothing", () => {
    const { topic, tell } = useTopic();
    topic.report({ kind: "sameDocument", version: { noticedMs: 0, resourceVersion: "1" } });
    expect(topic.state.kind, "without a document").to.equal("starting");
    tell(1);
    const reader = new Reader(topic);
    topic.report({ kind: "stale", reason: new Error("away") });
    topic.report({ kind: "sameDocument", version: { noticedMs: 0, resourceVersion: "2" } });
    expect(topic.state.kind).to.equal("live");
    expect(topic.newest?.version.resourceVersion).to.equal("2");
    expect(reader.got).to.deep.equal(["v1"]);
    topic.report({ kind: "deleted" });
    topic.report({ kind: "sameDocument", version: { noticedMs: 0, resourceVersion: "3" } });
    expect(topic.state.kind).to.equal("deleted");
  });

  it("has the stack of a reason that it keeps formatted: an unread one keeps the document alive that was refused", () => {
    const { topic } = useTopic();
    const formatted: string[] = [];
    Error.prepareStackTrace = (error) => void formatted.push(error.message);
    try {
      const cause = new Error("the cause");
      topic.report({ kind: "stale", reason: new Error("refused", { cause }) });
      expect(formatted).to.deep.equal(["refused", "the cause"]);
    } finally {
      Reflect.deleteProperty(Error, "prepareStackTrace");
    }
  });

  it("refuses a version that there is no memory for, serves the one before it, and serves the next that there is", () => {
    const ledger = new DocumentLedger(1_200);
    const { topic, tell, clock } = useTopic({}, 256, ledger);
    const reader = new Reader(topic);
    tell(1);
    const flags = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`f${index}`, {}]));
    const versionOf = (resourceVersion: string) => ({ noticedMs: clock.monotonicMs(), resourceVersion });
    const large = { kind: "document", document: { flags }, version: versionOf("2") } as const;
    expect(() => topic.report(large)).to.throw("no memory for the newest version of demo/flags");
    topic.report({ kind: "stale", reason: new Error("refused") });
    expect(reader.got).to.deep.equal(["v1"]);
    expect(ledger.hasRoom("demo/other", 400), "of what is served").to.equal(false);
    tell(4);
    expect(topic.state.kind).to.equal("live");
    expect(reader.got).to.deep.equal(["v1", "v4"]);
    topic.close();
    expect(ledger.hasRoom("demo/other", 400), "all is free").to.equal(true);
  });

  it("refuses whom an edit of the readers takes the right from, also while a version is not served for want of memory", () => {
    let right: "given" | "taken" = "given";
    const error = new ProxyError("PERMISSION_DENIED", "not yours");
    const lost = () => (right === "given" ? [] : [{ error, subscribers: new Set<unknown>([reader]) }]);
    const { topic, tell, clock } = useTopic({}, 256, new DocumentLedger(1_500), lost);
    tell(1);
    const reader = new Reader(topic);
    const flags = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`f${index}`, {}]));
    const versionOf = (resourceVersion: string, ...readers: readonly string[]) => ({
      noticedMs: clock.monotonicMs(),
      resourceVersion,
      readers: new Set(readers),
    });
    const report = (version: SourceVersion): void =>
      topic.report({ kind: "document", document: { flags }, version });
    expect(() => report(versionOf("2", "team-b"))).to.throw("no memory");
    expect(reader.refusal).to.equal(undefined);
    right = "taken";
    expect(() => report(versionOf("3"))).to.throw("no memory");
    expect(reader.refusal).to.equal(error);
    expect(topic.readers?.size).to.equal(0);
  });

  it("holds subscribers while the source has reported nothing but that it is stale", () => {
    const { topic, tell } = useTopic({ missingPolicy: "fail" });
    topic.report({ kind: "stale", reason: new Error("away") });
    const reader = new Reader(topic);
    expect(reader.refusal).to.be.undefined;
    tell(1);
    expect(reader.got).to.deep.equal(["v1"]);
  });

  it("measures once for each version how long it takes to reach half and all of its subscribers", () => {
    const { topic, clock, tell, counts } = useTopic();
    const quick = new Reader(topic);
    const slow = new Reader(topic);
    slow.isSlow = true;
    tell(1);
    clock.advance(5);
    new Reader(topic);
    expect(quick.got).to.deep.equal(["v1"]);
    expect(counts.converged).to.deep.equal([[0.5, 0]]);
    slow.read();
    const all = [
      [0.5, 0],
      [0.99, 5],
      [1, 5],
    ];
    expect(counts.converged).to.deep.equal(all);
    new Reader(topic);
    expect(counts.converged).to.deep.equal(all);
  });

  it("logs that versions have reached all subscribers a few times a minute, and how many lines it left out", () => {
    const { topic, clock, tell, logged } = useTopic();
    new Reader(topic);
    for (let number = 1; number <= 50; number++) tell(number);
    const reached = (): readonly string[] =>
      logged("info").filter((line) => line.includes("has reached all"));
    expect(reached()).to.have.length(20);
    clock.advance(60_000);
    tell(51);
    expect(reached().at(-1)).to.contain('"suppressedSinceLast":30');
  });

  it("does not count subscribers that left in its convergence", () => {
    const { topic, clock, tell, counts } = useTopic();
    const gone = new Reader(topic);
    new Reader(topic);
    gone.isSlow = true;
    clock.advance(1);
    tell(1);
    clock.advance(30);
    gone.subscription.close();
    expect(counts.converged).to.deep.equal([
      [0.5, 0],
      [0.99, 0],
      [1, 0],
    ]);
  });

  it("counts one that leaves as behind only if it was: it does not stand for one that is slow", () => {
    const { topic, tell, counts } = useTopic();
    const [has, alsoHas, slow] = [new Reader(topic), new Reader(topic), new Reader(topic)];
    slow.isSlow = true;
    tell(1);
    for (const reader of [has, alsoHas]) reader.subscription.close();
    expect(topic.convergence.behind).to.equal(1);
    expect(counts.converged.map(([share]) => share)).to.deep.equal([0.5]);
    slow.read();
    expect(counts.converged.map(([share]) => share)).to.deep.equal([0.5, 0.99, 1]);
  });

  it("still counts whom an edit of the readers spares until they have the newest version, and nobody twice", () => {
    const lost: Reader[] = [];
    const error = new ProxyError("PERMISSION_DENIED", "not yours");
    const { topic, tell, clock, counts } = useTopic({}, 256, new DocumentLedger(), () =>
      lost.length === 0 ? [] : [{ error, subscribers: new Set<unknown>(lost) }],
    );
    const [ended, has, slow, slower] = [
      new Reader(topic),
      new Reader(topic),
      new Reader(topic),
      new Reader(topic),
    ];
    for (const reader of [ended, slow, slower]) reader.isSlow = true;
    tell(1);
    expect([has.got, topic.convergence.behind]).to.deep.equal([["v1"], 3]);
    lost.push(ended);
    topic.report({ kind: "sameDocument", version: { noticedMs: clock.monotonicMs(), resourceVersion: "2" } });
    expect(ended.refusal).to.equal(error);
    expect([topic.convergence.arrived, topic.convergence.behind]).to.deep.equal([1, 2]);
    slow.read();
    slower.read();
    expect([topic.convergence.arrived, topic.convergence.behind]).to.deep.equal([3, 0]);
    expect(counts.converged.map(([share]) => share)).to.deep.equal([0.5, 0.99, 1]);
  });

  it("expects nobody to get the newest version any more once it has ended all, by the policy close", () => {
    const { topic, clock, tell, turn } = useTopic({ deletionPolicy: "close" });
    const slow = new Reader(topic);
    slow.isSlow = true;
    tell(1);
    expect(topic.convergence.behind).to.equal(1);
    topic.report({ kind: "deleted" });
    clock.advance(graceMs);
    while (turn());
    expect(topic.convergence.behind).to.equal(0);
  });

  it("wakes those who are told of it once when the source goes stale and once when it is back, and no others", () => {
    const { topic, tell } = useTopic();
    tell(1);
    const woken: string[] = [];
    const refuse = (): void => undefined;
    topic.subscribe({
      readsFreshness: true,
      wake: () => woken.push(topic.freshness?.reason?.message ?? "fresh"),
      refuse,
    });
    topic.subscribe({ wake: () => woken.push("an agent"), refuse });
    const away = new Error("away");
    topic.report({ kind: "stale", reason: away });
    topic.report({ kind: "stale", reason: away });
    tell(1);
    expect(woken).to.deep.equal(["away", "fresh"]);
  });

  it("wakes its subscribers for a tombstone, although the snapshot stays the same", () => {
    const { topic, clock, tell, turn } = useTopic({ deletionPolicy: "keep" });
    tell(1);
    let woken = 0;
    topic.subscribe({ readsTombstones: true, wake: () => woken++, refuse: () => undefined });
    topic.report({ kind: "deleted" });
    while (turn());
    expect(woken, "in the grace").to.equal(0);
    clock.advance(graceMs);
    while (turn());
    expect(woken).to.equal(1);
  });

  it("remembers of the versions before the newest only those that somebody holds, once all have the one before", () => {
    const { topic, tell } = useTopic();
    const reader = new Reader(topic);
    const digests: string[] = [];
    const remembered = (): readonly number[] =>
      digests.flatMap((digest) => topic.versions.withDigest(digest)?.sequence ?? []);
    const acknowledge = (): void => {
      const now = topic.newest?.digest ?? "";
      topic.acks.acknowledge(digests.at(-1) ?? "", now);
      digests.push(now);
    };
    for (const number of [1, 2, 3, 4]) {
      tell(number);
      acknowledge();
    }
    expect(remembered(), "all have acknowledged each").to.deep.equal([3, 4]);
    reader.isSlow = true;
    for (const number of [5, 6]) {
      tell(number);
      digests.push(topic.newest?.digest ?? "");
    }
    expect(remembered(), "one is behind").to.deep.equal([4, 5, 6]);
  });

  it("reports once that it is idle when the last subscription is closed, however often that is closed", () => {
    const use = useTopic();
    const a = new Reader(use.topic);
    const b = new Reader(use.topic);
    a.subscription.close();
    expect(use.idle).to.equal(0);
    b.subscription.close();
    b.subscription.close();
    expect(use.idle).to.equal(1);
    expect(use.topic.size).to.equal(0);
  });
});

describe("a topic's conflation", () => {
  it("ends at A when A, B, A are published while B is under way", () => {
    const { topic, tell, counts } = useTopic();
    const reader = new Reader(topic);
    tell(1);
    reader.isSlow = true;
    tell(2);
    const underWay = reader.subscription.due;
    if (underWay !== undefined) reader.subscription.take(underWay);
    expect(underWay?.text).to.include("v2");
    tell(1);
    reader.read();
    expect(reader.got).to.deep.equal(["v1", "v1"]);
    expect(counts.conflated).to.equal(0);
  });

  it("sends nothing more when A, B, A are published while A is under way and B never was", () => {
    const { topic, tell, counts } = useTopic();
    const reader = new Reader(topic);
    tell(1);
    reader.isSlow = true;
    tell(2);
    tell(1);
    reader.read();
    expect(reader.got).to.deep.equal(["v1"]);
    expect(counts.conflated).to.equal(1);
  });

  it("gives a slow subscriber only the newest, and counts the conflated versions", () => {
    const { topic, tell, counts } = useTopic();
    tell(1);
    const reader = new Reader(topic);
    reader.isSlow = true;
    for (const number of [2, 3, 4, 5]) tell(number);
    reader.read();
    expect(reader.got).to.deep.equal(["v1", "v5"]);
    expect(counts.conflated).to.equal(3);
  });

  it("brings all subscribers to a version that is published while a pass is under way", () => {
    const { topic, tell, turn } = useTopic({}, 3);
    const readers = Array.from({ length: 10 }, () => new Reader(topic));
    tell(1);
    expect(readers.filter((reader) => reader.got.length > 0)).to.have.length(3);
    turn();
    tell(2);
    const joined = new Reader(topic);
    readers[1]?.subscription.close();
    readers[7]?.subscription.close();
    while (turn());
    expect(joined.got).to.deep.equal(["v2"]);
    readers.forEach((reader, index) => {
      const hadFirst = index < 6;
      const expected = index === 7 ? [] : index === 1 ? ["v1"] : hadFirst ? ["v1", "v2"] : ["v2"];
      expect(reader.got).to.deep.equal(expected);
    });
  });

  it("brings the newest version to all whom an edit of the readers spares while a pass is under way", () => {
    const lost: Reader[] = [];
    const error = new ProxyError("PERMISSION_DENIED", "not yours");
    const { topic, tell, turn, clock } = useTopic({}, 3, new DocumentLedger(), () =>
      lost.length === 0 ? [] : [{ error, subscribers: new Set<unknown>(lost) }],
    );
    const readers = Array.from({ length: 10 }, () => new Reader(topic));
    tell(1);
    lost.push(...readers.slice(0, 1));
    topic.report({ kind: "sameDocument", version: { noticedMs: clock.monotonicMs(), resourceVersion: "2" } });
    while (turn());
    expect(readers[0]?.refusal).to.equal(error);
    expect(readers.map(({ got }) => got)).to.deep.equal(readers.map(() => ["v1"]));
  });
});

describe("a topic whose document is deleted", () => {
  for (const deletionPolicy of ["keep", "empty", "close"] as const) {
    it(`serves the last snapshot to all during the grace (${deletionPolicy})`, () => {
      const { topic, clock, tell } = useTopic({ deletionPolicy });
      const before = new Reader(topic);
      tell(1);
      topic.report({ kind: "deleted" });
      clock.advance(graceMs - 1);
      const during = new Reader(topic);
      expect(topic.isInGrace).to.be.true;
      for (const reader of [before, during]) {
        expect(reader.got).to.deep.equal(["v1"]);
        expect(reader.refusal).to.be.undefined;
      }
    });

    it(`sends a document re-created during the grace, and cancels the deletion (${deletionPolicy})`, () => {
      const { topic, clock, tell, turn } = useTopic({ deletionPolicy });
      const same = new Reader(topic);
      tell(1);
      topic.report({ kind: "deleted" });
      clock.advance(graceMs / 2);
      tell(1);
      expect(clock.pendingTimers).to.equal(0);
      clock.advance(graceMs * 2);
      while (turn());
      expect(topic.state.kind).to.equal("live");
      expect(same.got).to.deep.equal(["v1"]);
      topic.report({ kind: "deleted" });
      tell(2);
      expect(same.got).to.deep.equal(["v1", "v2"]);
      expect(same.refusal).to.be.undefined;
    });

    it(`settles the deletion although the document that came back can't be encoded (${deletionPolicy})`, () => {
      const { topic, tell, clock } = useTopic({ deletionPolicy });
      tell(1);
      topic.report({ kind: "deleted" });
      const broken = {
        flags: {
          get f(): never {
            throw new RangeError("too deep");
          },
        },
      };
      const report = { kind: "document", document: broken, version: { noticedMs: 0 } } as const;
      expect(() => topic.report(report)).to.throw(RangeError);
      topic.report({ kind: "stale", reason: new Error("too deep") });
      clock.advance(graceMs);
      expect(standing(topic.state)).to.include({ kind: "deleted", phase: "settled" });
    });

    it(`continues the grace, and applies the policy, while the source is stale (${deletionPolicy})`, () => {
      const { topic, clock, tell, turn } = useTopic({ deletionPolicy });
      tell(1);
      topic.report({ kind: "deleted" });
      topic.report({ kind: "stale", reason: new Error("away") });
      clock.advance(graceMs);
      while (turn());
      expect(topic.state.kind).to.equal("stale");
      expect(standing(topic.state)).to.include({ kind: "deleted", phase: "settled" });
      tell(2);
      expect(new Reader(topic).got).to.deep.equal(["v2"]);
    });

    it(`sends a document re-created after the policy was applied (${deletionPolicy})`, () => {
      const { topic, clock, tell, turn } = useTopic({ deletionPolicy });
      tell(1);
      topic.report({ kind: "deleted" });
      clock.advance(graceMs);
      const after = new Reader(topic);
      tell(2);
      while (turn());
      expect(after.got.at(-1)).to.equal("v2");
      expect(after.refusal).to.be.undefined;
      topic.report({ kind: "deleted" });
      expect(topic.isInGrace).to.be.true;
    });
  }

  it("keeps serving the last snapshot, to new subscribers too, by the policy keep", () => {
    const { topic, clock, tell } = useTopic({ deletionPolicy: "keep" });
    const before = new Reader(topic);
    tell(1);
    topic.report({ kind: "deleted" });
    clock.advance(graceMs);
    expect(before.got).to.deep.equal(["v1"]);
    expect(new Reader(topic).got).to.deep.equal(["v1"]);
    expect(topic.state).to.include({ kind: "deleted", phase: "settled" });
  });

  it("sends a document without flags to old and new, by the policy empty", () => {
    const { topic, clock, tell } = useTopic({ deletionPolicy: "empty" });
    const before = new Reader(topic);
    tell(1);
    topic.report({ kind: "deleted" });
    clock.advance(graceMs);
    expect(before.got).to.deep.equal(["v1", "empty"]);
    expect(new Reader(topic).got).to.deep.equal(["empty"]);
    tell("empty");
    expect(before.got).to.deep.equal(["v1", "empty"]);
    expect(topic.state.kind).to.equal("live");
  });

  it("ends its subscribers and holds new ones, by the policy close", () => {
    const { topic, clock, tell, turn, counts, logged } = useTopic({ deletionPolicy: "close" }, 3);
    tell(1);
    const before = Array.from({ length: 10 }, () => new Reader(topic));
    topic.report({ kind: "deleted" });
    clock.advance(graceMs);
    const after = new Reader(topic);
    while (turn());
    expect(logged("warn").filter((line) => line.includes("does not exist"))).to.have.length(1);
    for (const reader of before) expect(reader.refusal).to.have.property("code", "TOPIC_DELETED");
    expect(after.refusal).to.be.undefined;
    expect(after.got).to.deep.equal([]);
    expect(counts.held).to.equal(1);
    tell(1);
    expect(after.got).to.deep.equal(["v1"]);
  });

  it("does not end subscribers that a re-created document reached first, by the policy close", () => {
    const { topic, clock, tell, turn } = useTopic({ deletionPolicy: "close" }, 3);
    tell(1);
    topic.report({ kind: "deleted" });
    clock.advance(graceMs);
    const held = new Reader(topic);
    tell(2);
    while (turn());
    topic.report({ kind: "deleted" });
    clock.advance(graceMs - 1);
    expect(held.refusal).to.be.undefined;
  });

  it("treats as deleted what the source reports missing after it was served", () => {
    const { topic, clock, tell } = useTopic({ deletionPolicy: "empty" });
    tell(1);
    topic.report({ kind: "missing" });
    expect(topic.state).to.include({ kind: "deleted", phase: "grace" });
    topic.report({ kind: "deleted" });
    topic.report({ kind: "missing" });
    clock.advance(graceMs);
    expect(new Reader(topic).got).to.deep.equal(["empty"]);
  });

  it("holds subscribers if the document was deleted before the topic began", () => {
    const { topic, clock, tell, counts, logged } = useTopic({ deletionPolicy: "keep" });
    const reader = new Reader(topic);
    topic.report({ kind: "deleted" });
    clock.advance(graceMs);
    expect(logged("warn")).to.have.length(1);
    expect(logged("warn")[0]).to.include("does not exist");
    expect(reader.got).to.deep.equal([]);
    expect(counts.held).to.equal(1);
    tell(1);
    expect(reader.got).to.deep.equal(["v1"]);
  });

  it("applies the policy after the grace where it was missing until another replica's deletion was learnt: agents may hold its flags", () => {
    const { topic, clock } = useTopic({ deletionPolicy: "empty" });
    topic.report({ kind: "missing" });
    const reader = new Reader(topic);
    topic.report({ kind: "deleted" });
    topic.report({ kind: "missing" });
    clock.advance(graceMs - 1);
    expect(reader.got).to.deep.equal([]);
    clock.advance(1);
    expect(reader.got).to.deep.equal(["empty"]);
    expect(topic.state).to.include({ kind: "deleted", phase: "settled" });
  });

  it("stays missing when the source has been stale and says missing again: nothing was deleted, and agents keep what they have", () => {
    const { topic, clock, logged } = useTopic({ deletionPolicy: "empty" });
    const reader = new Reader(topic);
    topic.report({ kind: "missing" });
    topic.report({ kind: "stale", reason: new Error("away") });
    topic.report({ kind: "missing" });
    clock.advance(graceMs);
    expect(topic.state.kind).to.equal("missing");
    expect(reader.got).to.deep.equal([]);
    expect(logged("info")).to.deep.equal([]);
  });

  it("leaves nothing behind when it is closed, and ignores the source", () => {
    const { topic, clock, tell, turn, counts } = useTopic();
    const reader = new Reader(topic);
    topic.close();
    while (turn());
    expect(reader.refusal).to.have.property("code", "SHUTTING_DOWN");
    tell(1);
    topic.report({ kind: "deleted" });
    topic.report({ kind: "missing" });
    topic.report({ kind: "stale", reason: new Error("away") });
    topic.close();
    expect(reader.got).to.deep.equal([]);
    expect(clock.pendingTimers).to.equal(0);
    expect(counts.held).to.equal(0);
    for (const count of Object.values(counts.topics)) expect(count).to.equal(0);
  });
});
