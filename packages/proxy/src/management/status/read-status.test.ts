import { expect } from "chai";
import { identityName, type Identity } from "@bunting/identity";
import { atOnce, digestingDocument, type FlagDocument, type TopicKey } from "@bunting/protocol";
import type { TransportSession } from "@bunting/rpc";
import { createLogger, cut } from "@bunting/runtime";
import { cpuGrowth } from "@bunting/test/support/cpu-growth.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import type { Grant } from "../../access/grants.js";
import { ProxyError } from "../../proxy-error.js";
import { proxyMetrics } from "../../proxy-metrics.js";
import type { BackplaneReport } from "../../source/backplane/backplane-metrics.js";
import type { RemoteReport } from "@bunting/remote";
import type { Subscriber, Subscription } from "../../topic/subscription.js";
import { TopicRegistry } from "../../topic/topic-registry.js";
import type { LeftSubscriber } from "../../subscriber/left-behind.js";
import type { ListFollower } from "../../subscriber/list-follower.js";
import { agentCounts, countsPerPage } from "../agent-counts.js";
import { agentsOfAddresses } from "../agents-of-addresses.js";
import { statusReport, type StatusReport } from "../status-report.js";
import { readStatus, remoteViews, searchTopics, timesOf, type StatusParts } from "./read-status.js";
import { StatusObservations, steadyNow } from "./status-observations.js";

describe("readStatus", () => {
  function version(number: number): FlagDocument {
    return { flags: { f: { state: `v${number}` } } };
  }

  function useStatus() {
    const clock = new ManualClock();
    const source = new ScriptedSource(clock);
    const metrics = proxyMetrics();
    const topics = new TopicRegistry({
      source,
      context: {
        clock,
        logger: createLogger({ format: "json", debug: false }, { write: () => undefined }),
        metrics,
      },
      lingerMs: 30_000,
      missingPolicy: "hold",
      deletionGraceMs: 60_000,
      deletionPolicy: "keep",
    });
    const { nowMs, fromMonotonic } = steadyNow(clock);
    const parts: StatusParts = {
      replica: {
        name: "replica",
        version: "1.2.3",
        startedMs: clock.monotonicMs(),
        memory: { bytes: 1, budgetBytes: 2 },
        readiness: () => ({ isReady: true, reason: "ready" }),
        connections: () => 0,
      },
      clocks: { clock, fromMonotonic },
      observations: new StatusObservations(metrics, nowMs),
      sources: {
        backplane: () => undefined,
        watches: () => ({
          open: { object: 0, namespace: 0, cluster: 0 },
          oldestMs: 0,
          silentMs: 0,
          unwatched: 0,
          waiting: 0,
        }),
      },
      topics: () => topics.topics(),
      subscribers: { programs: () => [], leftBehind: () => new Set() },
    };
    const subscribe = (
      key: TopicKey,
      remoteAddress = "10.0.0.1",
      rest: Pick<Subscriber, "lastDigest"> = {},
    ): Subscription =>
      topics.subscribe(
        key,
        Object.assign(rest, {
          connection: { remoteAddress } as TransportSession,
          wake: () => undefined,
          refuse: () => undefined,
        }),
      );
    return { clock, source, parts, subscribe };
  }

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  /** Takes the newest version, and settles at it. */
  function takeAll(subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) {
      if (subscription.due !== undefined) subscription.take(subscription.due);
      subscription.settle();
    }
  }

  it("counts for the operator who has what is served, at which generation, and what is refused", async () => {
    const { source, parts, subscribe } = useStatus();
    const key = "demo/a" as TopicKey;
    const subscriptions = [subscribe(key), subscribe(key), subscribe(key)];
    const agents = (): object => agentCounts(parts.topics());
    const waiting = { topic: key, subscribers: 3, current: 0, refusing: 0 };
    expect(agents()).to.deep.equal({ topics: [waiting] });
    source.publish(key, version(1), { uid: "u", generation: 7 });
    await turn();
    const served = { ...waiting, uid: "u", generation: 7 };
    expect(agents()).to.deep.equal({ topics: [served] });
    takeAll(subscriptions.slice(1));
    expect(agents()).to.deep.equal({ topics: [{ ...served, current: 2 }] });
    takeAll(subscriptions);
    const reason = new ProxyError("DOCUMENT_INVALID", "flag f has no variants");
    source.stale(key, reason);
    expect(agents()).to.deep.equal({
      topics: [{ ...served, current: 3, stale: true, refused: "flag f has no variants" }],
    });
  });

  it("tells the operator of many topics page by page, and of none whose FeatureFlag does not exist", () => {
    const { source, parts, subscribe } = useStatus();
    const keys = Array.from({ length: countsPerPage + 3 }, (_, index) => `demo/f${index}` as TopicKey);
    for (const key of keys) subscribe(key);
    for (const key of keys.slice(0, 2)) source.missing(key);
    const topicsOf = ({ topics }: ReturnType<typeof agentCounts>): readonly string[] =>
      topics.map(({ topic }) => topic);
    expect(topicsOf(agentCounts(parts.topics()))).to.deep.equal(keys.slice(2));
    const first = agentCounts(parts.topics(), 0);
    expect(topicsOf(first)).to.deep.equal(keys.slice(2, -1));
    expect(first.next).to.equal(countsPerPage + 2);
    expect(agentCounts(parts.topics(), first.next)).to.deep.equal({
      topics: [{ topic: keys.at(-1), subscribers: 1, current: 0, refusing: 0 }],
    });
    expect(agentCounts(parts.topics(), 1_000_000)).to.deep.equal({ topics: [] });
  });

  it("tells the operator of an address whether all that is subscribed from there has what is served", async () => {
    const { clock, source, parts, subscribe } = useStatus();
    const [a, b] = ["demo/a", "demo/b"] as TopicKey[];
    if (a === undefined || b === undefined) throw new Error("there are two");
    const acknowledging = { lastDigest: "" };
    const of = (address: string): readonly number[] => {
      const [found] = agentsOfAddresses({ topics: parts.topics() }, [address], timesOf(parts)).addresses;
      return [found?.subscriptions ?? -1, found?.current ?? -1];
    };
    const written = subscribe(a);
    subscribe(a, "10.0.0.2", acknowledging);
    expect(of("10.0.0.1"), "nothing was read yet").to.deep.equal([1, 0]);
    expect(of("10.0.0.9")).to.deep.equal([0, 0]);
    source.publish(a, version(1), { uid: "u", generation: 1 });
    await turn();
    expect([of("10.0.0.1"), of("10.0.0.2")]).to.deep.equal([
      [1, 0],
      [1, 0],
    ]);
    takeAll([written]);
    expect(of("10.0.0.1"), "its protocol has no acks").to.deep.equal([1, 1]);
    expect(of("10.0.0.2"), "it was sent, and not acknowledged").to.deep.equal([1, 0]);
    const [topic] = parts.topics();
    acknowledging.lastDigest = topic?.newest?.digest ?? "";
    expect(of("10.0.0.2")).to.deep.equal([1, 1]);
    source.publish(a, version(2), { uid: "u", generation: 2 });
    await turn();
    expect(of("10.0.0.2"), "an edit that is just being sent").to.deep.equal([1, 1]);
    clock.advance(1_000);
    expect(of("10.0.0.2")).to.deep.equal([1, 0]);
    subscribe(b, "10.0.0.1");
    takeAll([written]);
    expect(of("10.0.0.1"), "of one of two").to.deep.equal([2, 1]);
    source.missing(b);
    await turn();
    expect(of("10.0.0.1"), "there is nothing to have").to.deep.equal([2, 2]);
  });

  it("tells the operator of an address from which a version is tried, too", () => {
    const { source, parts, subscribe } = useStatus();
    const key = "demo/a" as TopicKey;
    const document = version(2);
    const digest = atOnce(digestingDocument(document));
    const agent = { lastDigest: "", bucket: 7, move: () => undefined };
    const trial = { document, digest, reach: 100, generation: 8 };
    subscribe(key);
    source.publish(key, version(1), { uid: "u", generation: 7, trial });
    subscribe(key, "10.0.0.2", agent);
    const of = (): unknown =>
      agentsOfAddresses({ topics: parts.topics() }, ["10.0.0.2"], timesOf(parts)).addresses[0];
    const told = { address: "10.0.0.2", subscriptions: 1 };
    expect(of()).to.deep.equal({ ...told, current: 0 });
    agent.lastDigest = digest;
    expect(of()).to.deep.equal({ ...told, current: 1 });
  });

  it("says which lists the agents of an address follow, and no more of them than there may be", () => {
    const of = (address: string, ...digests: readonly string[]): readonly ListFollower[] =>
      digests.map((digest) => ({ address, digest }));
    const many = Array.from({ length: 40 }, (_, index) => `d${index}`);
    const followers = [...of("a", "d1", "d1", "d2"), ...of("b", ...many), ...of("elsewhere", "d1")];
    const { addresses } = agentsOfAddresses({ topics: [], followers }, ["a", "b", "c"], { monotonicMs: 0 });
    const nothing = { subscriptions: 0, current: 0 };
    expect(addresses).to.deep.equal([
      { address: "a", ...nothing, lists: ["d1", "d2"] },
      { address: "b", ...nothing, lists: many.slice(0, 16) },
      { address: "c", ...nothing },
    ]);
  });

  it("counts for the operator who has a version that others are not to have yet, in place of what is served to all", () => {
    const { source, parts, subscribe } = useStatus();
    const key = "demo/a" as TopicKey;
    subscribe(key);
    const document = version(2);
    const digest = atOnce(digestingDocument(document));
    const trial = { document, digest, reach: 100, generation: 8 };
    source.publish(key, version(1), { uid: "u", generation: 7, trial });
    const counts = { digest, reach: 100, agents: 0, wave: 0, current: 0, refusals: 0 };
    const served = { topic: key, uid: "u", generation: 8, subscribers: 1, current: 0, refusing: 0 };
    expect(agentCounts(parts.topics())).to.deep.equal({ topics: [{ ...served, trial: counts }] });
    expect(statusReport(parts, false).topics[0]?.trial).to.deep.equal(counts);
  });

  it("tells what is shared with other replicas, and nothing of that for a proxy alone", () => {
    const { clock, parts } = useStatus();
    expect(readStatus(parts, 1).watches.shared).to.equal(undefined);
    const counts = { followed: 3, direct: 2, forOthers: 1 };
    const report: BackplaneReport = {
      ...counts,
      ...{ state: "degraded", stateMs: 5_000, replica: "r", replicas: ["r", "s"], lagMs: 4 },
      ...{ lease: { fence: 7, renewedAgoMs: 300 }, reason: "connect ECONNREFUSED" },
    };
    const sources = { ...parts.sources, backplane: () => report };
    const agoMs = (ms: number): number => parts.clocks.fromMonotonic(clock.monotonicMs() - ms);
    expect(readStatus({ ...parts, sources }, 1).watches.shared).to.deep.equal({
      ...counts,
      state: "degraded",
      sinceMs: agoMs(5_000),
      reason: "connect ECONNREFUSED",
      replicas: 2,
      lease: { fence: 7, renewedMs: agoMs(300) },
      lagMs: 4,
    });
  });

  it("names those who are late, the longest first, since the version that they missed first", async () => {
    const { clock, source, parts, subscribe } = useStatus();
    source.publish("a/a", version(1));
    source.publish("b/b", version(1));
    const subscriptions = [
      subscribe("a/a", "10.0.0.1"),
      subscribe("a/a", "10.0.0.2"),
      subscribe("b/b", "10.0.0.3"),
    ];
    await turn();
    takeAll(subscriptions);
    const startMs = clock.now();
    clock.advance(10_000);
    source.publish("b/b", version(2));
    clock.advance(10_000);
    source.publish("a/a", version(2));
    takeAll(subscriptions.slice(1, 2));
    clock.advance(10_000);
    source.publish("b/b", version(3));
    clock.advance(500);
    const { late, overview, topics } = readStatus(parts, 1);
    expect(late.total).to.equal(2);
    expect(
      late.shown.map(({ topic, address, sinceMs, versions }) => [
        topic,
        address,
        sinceMs - startMs,
        versions,
      ]),
    ).to.deep.equal([
      ["b/b", "10.0.0.3", 10_000, 2],
      ["a/a", "10.0.0.1", 20_000, 1],
    ]);
    expect(overview).to.include({ late: 2, lateSinceMs: startMs + 10_000, subscribers: 3 });
    expect(topics.shown.map(({ topic, late: count }) => [topic, count])).to.deep.equal([
      ["a/a", 1],
      ["b/b", 0],
    ]);
    takeAll(subscriptions);
    clock.advance(2_000);
    expect(readStatus(parts, 1).late).to.deep.equal({ total: 0, shown: [] });
  });

  it("names the manifests that are refused, and no topics that are stale for another reason", async () => {
    const { source, parts, subscribe } = useStatus();
    for (const key of ["a/a", "b/b"] as const) subscribe(key);
    await turn();
    source.stale("b/b", new Error("the API server is away"));
    expect(readStatus(parts, 1).overview).to.include({ invalid: 0, invalidReason: undefined });
    expect(statusReport(parts, false)).to.not.have.property("refusedDocuments");
    source.stale("a/a", new ProxyError("DOCUMENT_INVALID", "/flags/a.yaml:3: it has no flags"));
    expect(readStatus(parts, 1).overview).to.include({
      invalid: 1,
      invalidReason: "/flags/a.yaml:3: it has no flags",
    });
    expect(statusReport(parts, false).refusedDocuments).to.deep.equal({
      "a/a": "/flags/a.yaml:3: it has no flags",
    });
  });

  it("names those who have gone without the newest version, the latest first", () => {
    const { clock, parts } = useStatus();
    const identity = { kind: "token", namespace: "shop", serviceAccount: "cart", pod: "cart-1" } as const;
    const common = {
      topic: "a/a" as const,
      address: "10.0.0.1",
      program: "p/1",
      sinceMs: 0,
      count: 2,
      leftMs: 1_000,
    };
    const left = new Set<LeftSubscriber>([
      { ...common, identity: undefined, digest: undefined },
      { ...common, identity, digest: "0123456789", leftMs: 2_000 },
      {
        ...common,
        identity: { kind: "token", namespace: "shop", serviceAccount: "cart" },
        digest: "0123456789",
        leftMs: 3_000,
      },
    ]);
    const withLeft = { ...parts, subscribers: { ...parts.subscribers, leftBehind: () => left } };
    const { left: section, overview } = readStatus(withLeft, 1);
    expect(overview.left).to.equal(3);
    expect(section.total).to.equal(3);
    expect(
      section.shown.map((one) => [one.identity, one.has?.digest, one.digest, one.versions]),
    ).to.deep.equal([
      ["shop/cart (ServiceAccount)", "01234567", "0123456789", 2],
      ["shop/cart-1", "01234567", "0123456789", 2],
      [undefined, undefined, undefined, 2],
    ]);
    clock.advance(10_000);
    const report = (sees: boolean): StatusReport => statusReport(withLeft, sees);
    const nowMs = clock.monotonicMs();
    expect(report(true).leftBehind.shown[1]).to.include({
      topic: "a/a",
      address: "10.0.0.1",
      identity: "shop/cart-1",
      digest: "0123456789",
      behindSeconds: 2,
      leftSecondsAgo: Math.round((nowMs - 2_000) / 100) / 10,
    });
    for (const hidden of ["10.0.0.1", "cart-1"])
      expect(JSON.stringify(report(false).leftBehind)).to.not.contain(hidden);
  });

  it("says nothing of an edit that is being sent", async () => {
    const { clock, source, parts, subscribe } = useStatus();
    source.publish("a/a", version(1));
    const subscription = subscribe("a/a");
    await turn();
    takeAll([subscription]);
    source.publish("a/a", version(2));
    clock.advance(900);
    expect(readStatus(parts, 1).late.total).to.equal(0);
    clock.advance(200);
    expect(readStatus(parts, 1).late.total).to.equal(1);
  });

  it("takes a time that grows with the subscribers", async function () {
    this.timeout(60_000);
    const bySize = new Map<number, StatusParts>();
    for (const size of [1_250, 10_000]) {
      const { clock, source, parts, subscribe } = useStatus();
      const keys = Array.from({ length: 600 }, (_, index): TopicKey => `n/t${index}`);
      for (const key of keys) source.publish(key, version(1));
      const subscriptions = Array.from({ length: size }, (_, index) =>
        subscribe(keys[index % 600] ?? "n/t0"),
      );
      await turn();
      takeAll(subscriptions);
      for (const key of keys) source.publish(key, version(2));
      clock.advance(5_000);
      bySize.set(size, parts);
    }
    const growth = await cpuGrowth(1_250, 8, (size) => {
      const parts = bySize.get(size);
      if (parts === undefined) throw new Error(`no proxy has ${size} subscribers`);
      for (let i = 0; i < 20; i++) expect(readStatus(parts, 1).late.total).to.equal(size);
    });
    expect(growth, "of the CPU that 8 times as many take").to.be.below(32);
  });

  it("stays small with 600 topics and 10,000 subscribers, all of them late, and counts each", async function () {
    this.timeout(60_000);
    const { clock, source, parts, subscribe } = useStatus();
    const keys = Array.from({ length: 600 }, (_, index): TopicKey => `n/t${index}`);
    for (const key of keys) source.publish(key, version(1));
    const subscriptions = Array.from({ length: 10_000 }, (_, index) =>
      subscribe(keys[index % 600] ?? "n/t0"),
    );
    await turn();
    takeAll(subscriptions);
    for (const key of keys) source.publish(key, version(2));
    clock.advance(5_000);
    const view = readStatus(parts, 1);
    expect(view.late.total).to.equal(10_000);
    expect(view.late.shown).to.have.lengthOf(50);
    expect(view.topics).to.include({ total: 600, offset: 0 });
    expect(view.topics.shown).to.have.lengthOf(50);
    expect(JSON.stringify(view).length).to.be.below(48 * 1024);
    if (process.env["BUNTING_PRINT"] === "1") {
      const times = Array.from({ length: 20 }, () => {
        const began = performance.now();
        JSON.stringify(readStatus(parts, 1));
        return performance.now() - began;
      });
      console.log(
        `${times.toSorted((a, b) => a - b)[10]?.toFixed(2)} ms, ${JSON.stringify(view).length} bytes`,
      );
    }
  });

  it("finds topics by name and state, a page at a time", async () => {
    const { source, parts, subscribe } = useStatus();
    const keys = Array.from({ length: 120 }, (_, index): TopicKey => `n/t${String(index).padStart(3, "0")}`);
    for (const [index, key] of keys.entries()) if (index >= 5) source.publish(key, version(1));
    for (const key of keys) subscribe(key);
    await turn();
    const found = (search: string, only: string, offset: number): string[] =>
      searchTopics(parts, { search, only, offset }, true).shown.map(({ topic }) => topic);
    expect(found("t11", "", 0)).to.deep.equal(keys.slice(110));
    expect(found("", "missing", 0)).to.deep.equal(keys.slice(0, 5));
    expect(found("", "", 0)).to.deep.equal(keys.slice(0, 50));
    expect(found("", "", 100)).to.deep.equal(keys.slice(100));
    expect(found("", "", 1e15)).to.deep.equal([]);
    expect(found("", "no such state", 0)).to.deep.equal([]);
  });

  it("tells who reads a topic by ServiceAccount, where callers have an identity and the viewer may see it", async () => {
    const { source, parts, subscribe } = useStatus();
    const key: TopicKey = "team-a/flags";
    source.publish(key, version(1));
    for (let index = 0; index < 9; index++) subscribe(key);
    subscribe("team-b/flags");
    await turn();
    const query = { search: "", only: "", offset: 0 };
    expect(searchTopics(parts, query, true).shown[0]?.readers).to.equal(undefined);

    const grants = ["one", "two", "three", "four", "five"].map((serviceAccount, index): Grant => {
      const identity: Identity = { kind: "token", namespace: "team-a", serviceAccount };
      const subscribers = new Set(
        Array.from({ length: index === 1 ? 3 : 1 }, () => ({ refuse: () => undefined })),
      );
      return { name: identityName(identity), identity, topic: key, subscribers };
    });
    const known = { ...parts, subscribers: { ...parts.subscribers, grants: () => grants } };
    const { shown } = searchTopics(known, query, true);
    expect(shown.find(({ topic }) => topic === key)?.readers).to.deep.equal({
      shown: [
        { name: "team-a/two", subscriptions: 3 },
        { name: "team-a/five", subscriptions: 1 },
        { name: "team-a/four", subscriptions: 1 },
        { name: "team-a/one", subscriptions: 1 },
      ],
      more: 1,
      anonymous: 2,
    });
    expect(shown.find(({ topic }) => topic === "team-b/flags")?.readers).to.deep.equal({
      shown: [],
      more: 0,
      anonymous: 1,
    });
    expect(readStatus(known, 1).topics.shown).to.deep.equal(shown);
    expect(JSON.stringify(searchTopics(known, query, false))).not.to.contain("readers");
  });

  it("tells which flags are of a remote, everywhere, and to the operator how far this replica knows it, if it reads it", async () => {
    const { clock, source, parts, subscribe } = useStatus();
    const [read, followed, plain] = ["demo/read", "demo/followed", "demo/plain"] as const;
    for (const key of [read, followed, plain]) {
      source.publish(key, version(1));
      subscribe(key);
    }
    await turn();
    const provenance = new Map([
      ["own", "local"] as const,
      ...["a", "b"].map((name) => [name, "remote"] as const),
    ]);
    const nothing = {
      state: undefined,
      reason: undefined,
      message: undefined,
      sinceMs: undefined,
      provenance,
    };
    const remarks = ["one thing", "another thing"];
    const message = "x".repeat(1_000);
    const stale = { ...nothing, state: "stale" as const, reason: "server_error", message, remarks };
    const reports: Record<string, RemoteReport> = {
      [read]: { ...stale, sinceMs: clock.monotonicMs() },
      [followed]: nothing,
    };
    const shown = { ...parts, sources: { ...parts.sources, remoteOf: (key: TopicKey) => reports[key] } };
    const flags = { local: 1, remote: 2 };
    const sinceMs = parts.clocks.fromMonotonic(clock.monotonicMs());
    const told = { state: "stale", reason: "server_error", message: cut(message, 500) };
    const ofReader = { ...told, sinceMs, remarks: "one thing; another thing", flags };
    const rows = readStatus(shown, 1).topics.shown;
    const remotes = Object.fromEntries(rows.map(({ topic, remote }) => [topic, remote]));
    expect(remotes).to.deep.equal({ [read]: ofReader, [followed]: { flags }, [plain]: undefined });
    expect(statusReport(shown, false).topics.map(({ topic, remote }) => [topic, remote])).to.deep.equal([
      [followed, { flags, remoteFlags: ["a", "b"] }],
      [plain, undefined],
      [read, { ...ofReader, remoteFlags: ["a", "b"] }],
    ]);
    const counted = agentCounts(shown.topics(), 0, remoteViews(shown)).topics;
    const toOperator = Object.fromEntries(counted.map(({ topic, remote }) => [topic, remote]));
    expect(toOperator).to.deep.equal({ [read]: ofReader, [followed]: undefined, [plain]: undefined });
  });
});
