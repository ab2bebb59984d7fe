import type { TopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { faults, status, type OpenWatch } from "@bunting/test/support/faulty-api-server/index.js";
import type { PlanLimits } from "./plan-watches.js";
import { SourceBench, type Subscribed } from "./kubernetes.fixture.js";

const outage = "FeatureFlags can't be watched; the last known versions are served";
const over = "all FeatureFlags are watched again";

describe("KubernetesSource", function () {
  let bench: SourceBench;
  afterEach(() => bench.stop());

  const names = (count: number, namespace = "ns"): string[] =>
    Array.from({ length: count }, (_, index) => `${namespace}/flag-${String(index).padStart(3, "0")}`);
  const at = (all: readonly Subscribed[], index: number): Subscribed => {
    const subscribed = all[index];
    if (subscribed === undefined) throw new Error(`there is no subscriber ${index}`);
    return subscribed;
  };
  const last = ({ reported }: Subscribed): string => reported.at(-1) ?? "nothing";
  /** Time passes until the subscriber has been told exactly this. */
  const isTold = async (subscribed: Subscribed, ...reported: readonly string[]): Promise<void> => {
    const wanted = reported.join(" ");
    await bench
      .until(() => subscribed.reported.join(" ") === wanted, `${subscribed.topic} is told ${wanted}`)
      .catch((error: unknown) => {
        throw new Error(`${(error as Error).message}; it was told ${subscribed.reported.join(" ")}`);
      });
  };
  const events = (type: string): number => bench.metrics.counts[`event:${type}`] ?? 0;
  /** Puts them, and subscribes to them, until each is told. */
  const putAndSubscribe = async (topics: readonly string[]): Promise<Subscribed[]> => {
    for (const topic of topics) bench.put(topic, 1);
    const all = topics.map((topic) => bench.subscribe(topic));
    await bench.until(() => all.every(({ reported }) => reported.length === 1), "all are told");
    return all;
  };
  const watchedAs = (scope: string): OpenWatch | undefined =>
    bench.api.watches().find((watch) => watch.scope === scope);

  it("reports a version at once while guesses wait for their answers, also after its watch was closed", async () => {
    bench = await SourceBench.start({ timing: { watchHeaderTimeoutMs: 600_000 } });
    const flag = bench.subscribe("ns/a");
    bench.put("ns/a", 1);
    await bench.until(() => flag.reported.at(-1) === "2", "the first version");
    const isGuess = ({ name }: { readonly name?: string | undefined }): boolean =>
      name?.startsWith("flag-") === true;
    bench.api.fault({ where: isGuess }, faults.hang(), Infinity);
    for (const topic of names(40)) bench.subscribe(topic, topic);
    const guesses = (): number => bench.api.requests.filter(isGuess).length;
    await bench.until(() => guesses() >= 15, "guesses are under way");
    watchedAs("ns/a")?.end();
    await bench.until(() => watchedAs("ns/a") !== undefined, "the watch is open again");
    bench.put("ns/a", 2);
    await bench.until(() => flag.reported.at(-1) === "3", "the next version");
  });

  describe("for one FeatureFlag", () => {
    beforeEach(async () => {
      bench = await SourceBench.start();
    });

    it("reports that it is missing, then each version of it", async () => {
      const flag = bench.subscribe("ns/a");
      expect(flag.reported, "from within the call").to.deep.equal([]);
      await isTold(flag, "missing");
      bench.put("ns/a", 1);
      bench.put("ns/a", 2);
      await isTold(flag, "missing", "2", "3");
      await bench.watches("ns/a");
    });

    it("reports uid, generation and version, also of an edit of metadata", async () => {
      const flag = bench.subscribe("ns/a");
      const { metadata } = bench.put("ns/a", 1);
      bench.put("ns/a", 1, { note: "x" });
      await bench.until(() => flag.reported.at(-1) === "3", "the edit");
      const event = flag.sink.last;
      expect(event?.kind === "document" && event.version).to.include({
        uid: metadata.uid,
        generation: 1,
        resourceVersion: "3",
      });
    });

    it("measures how long an edit took to arrive if it says when it was made, but not in a read", async () => {
      bench.put("ns/a", 1, { "bunting.dev/written-at": "1" });
      const flag = bench.subscribe("ns/a");
      await isTold(flag, "2");
      expect(bench.metrics.counts["writtenToEvent"]).to.equal(undefined);
      bench.put("ns/a", 2, { "bunting.dev/written-at": "2" });
      await isTold(flag, "2", "3");
      expect(bench.metrics.counts["writtenToEvent"]).to.equal(1);
    });

    it("keeps the last valid version when one is invalid, says so, and takes the next valid one", async () => {
      const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
      bench.api.put("ns", "a", { flagSpec: { flags: "none" } });
      bench.put("ns/a", 3);
      await isTold(flag, "2", "stale", "4");
      expect(bench.metrics.counts["invalid:document"]).to.equal(1);
      const lines = bench.logged(
        "a FeatureFlag is invalid and not served; its last valid version stays in force",
      );
      expect(lines).to.have.length(1);
      expect(lines[0]).to.include({ level: "error", topic: "ns/a" });
    });

    it("refuses a flag alone, which stays as it was, and serves the others", async () => {
      const flag = bench.subscribe("ns/a");
      const of = (state: unknown, variants: object): object => ({
        flagSpec: { flags: { b: { variants }, a: { state } } },
      });
      bench.api.put("ns", "a", of("ENABLED", { v: 1 }));
      await isTold(flag, "2");
      bench.api.put("ns", "a", of(1, { v: 2 }));
      await isTold(flag, "2", "3");
      expect(flag.sink.lastText).to.equal(
        '{"flags":{"a":{"defaultVariant":"","state":"ENABLED"},"b":{"defaultVariant":"","variants":{"v":2}}}}',
      );
      expect(bench.metrics.counts["invalid:document"]).to.equal(1);
      const [line, ...more] = bench.logged(
        "a flag of a FeatureFlag is invalid; its last valid version, if it had one, is still served",
      );
      expect(more).to.deep.equal([]);
      expect(line).to.include({ topic: "ns/a", path: "flags.a.state" });
    });

    it("does not read an edit of metadata, but reads everything again that a new object or a relist brings", async () => {
      const flag = bench.subscribe("ns/a");
      bench.put("ns/a", 1);
      await isTold(flag, "2");
      bench.put("ns/a", 1, { note: "x" });
      await isTold(flag, "2", "3");
      expect(flag.sink.sameDocuments).to.equal(1);
      bench.api.delete("ns", "a");
      bench.put("ns/a", 1);
      await isTold(flag, "2", "3", "5");
      expect(flag.sink.sameDocuments, "of another uid").to.equal(1);
      bench.put("ns/a", 2);
      await isTold(flag, "2", "3", "5", "6");
      expect(flag.sink.sameDocuments, "of another generation").to.equal(1);
    });

    it("refuses a version once: not again when its metadata is edited, nor after an outage", async () => {
      const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
      const deep = JSON.parse('{"!":['.repeat(500) + "true" + "]}".repeat(500)) as unknown;
      const refused = { flagSpec: { flags: {}, $evaluators: { a: deep } } };
      bench.api.put("ns", "a", refused);
      await isTold(flag, "2", "stale");
      const reason = flag.sink.last?.kind === "stale" ? flag.sink.last.reason.message : "";
      expect(reason).to.contain('"a" is nested more than 200 levels deep');
      bench.api.put("ns", "a", refused, { annotations: { note: "x" } });
      bench.api.put("ns", "a", refused, { annotations: { note: "y" } });
      bench.put("ns/a", 3);
      await isTold(flag, "2", "stale", "6");
      expect(bench.metrics.counts["invalid:document"]).to.equal(1);
    });

    it("takes an error that nobody expected for a refusal, and serves the next version", async () => {
      const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
      const take = flag.sink.report.bind(flag.sink);
      flag.sink.report = (report) => {
        if (report.kind === "document") throw new RangeError("Maximum call stack size exceeded");
        take(report);
      };
      bench.put("ns/a", 2);
      await isTold(flag, "2", "stale");
      flag.sink.report = take;
      bench.put("ns/a", 2, { note: "edited" });
      bench.put("ns/a", 3);
      await isTold(flag, "2", "stale", "5");
      expect(bench.metrics.counts).to.include({ "invalid:document": 1, sourceError: 1 });
    });

    it("reports nothing after it is unsubscribed from, and starts afresh when subscribed to again", async () => {
      const flag = bench.subscribe("ns/a");
      await isTold(flag, "missing");
      flag.stop();
      await bench.watches();
      bench.put("ns/a", 1);
      await bench.pass(100, 10);
      expect(flag.reported).to.deep.equal(["missing"]);
      const again = bench.subscribe("ns/a");
      await isTold(again, "2");
      bench.delete("ns/a");
      again.stop();
      const third = bench.subscribe("ns/a");
      await isTold(third, "missing");
      await bench.watches("ns/a");
      expect(again.reported).to.deep.equal(["2"]);
    });

    it("does nothing for a signal that has aborted", async () => {
      const flag = bench.subscribe("ns/a");
      flag.stop();
      bench.source.watch("ns/b", flag.sink, AbortSignal.abort());
      await bench.pass(100, 10);
      expect(flag.reported).to.deep.equal([]);
      expect(bench.scopes).to.deep.equal([]);
    });

    it("is in sync once the API server has answered, before anything is subscribed to", async () => {
      await bench.soon(() => bench.source.hasSynced, "in sync");
      let called = 0;
      bench.source.onSynced(() => called++);
      expect(called).to.equal(1);
      expect(bench.api.count("review")).to.equal(1);
    });
  });

  it("is not in sync while the API server does not answer, and keeps asking", async () => {
    bench = await SourceBench.start();
    let called = 0;
    bench.source.onSynced(() => called++);
    await bench.api.stop();
    const errors = (): number => bench.metrics.counts["sourceError"] ?? 0;
    await bench.until(() => errors() >= 2, "two tries");
    expect([called, bench.source.hasSynced]).to.deep.equal([0, false]);
    await bench.api.resume();
    await bench.until(() => bench.source.hasSynced, "in sync");
    expect(called).to.equal(1);
  });

  describe("where a FeatureFlag is deleted", () => {
    beforeEach(async () => {
      bench = await SourceBench.start();
    });

    it("reports that when a read that begins 3 s later confirms it, and not before", async () => {
      const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
      bench.delete("ns/a");
      await bench.soon(() => events("DELETED") === 1, "the event");
      const requests = bench.api.requests.length;
      // A read in between finds it gone too, but is too early to confirm that.
      await bench.pass(1_500);
      watchedAs("ns/a")?.end();
      await bench.soon(() => bench.api.requests.length === requests + 1, "a read of its own accord");
      await bench.pass(1_480, 20);
      expect(flag.reported).to.deep.equal(["2"]);
      expect(bench.api.requests).to.have.length(requests + 1);
      await bench.pass(20);
      await bench.soon(() => flag.reported.length === 2, "the deletion");
      expect(flag.reported).to.deep.equal(["2", "deleted"]);
      expect(bench.api.requests).to.have.length(requests + 2);
      bench.put("ns/a", 2);
      await isTold(flag, "2", "deleted", "4");
    });

    it("reports nothing if it is created again meanwhile", async () => {
      const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
      bench.delete("ns/a");
      await bench.soon(() => events("DELETED") === 1, "the event");
      await bench.pass(2_000);
      bench.put("ns/a", 2);
      await isTold(flag, "2", "4");
      await bench.pass(10_000);
      expect(flag.reported).to.deep.equal(["2", "4"]);
    });

    it("reports that also if the event was missed but a read did not find it", async () => {
      const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
      bench.api.watches()[0]?.hold();
      bench.delete("ns/a");
      bench.api.watches()[0]?.reset();
      await isTold(flag, "2", "deleted");
    });

    it("together with the whole type, reports nothing until the type is back", async () => {
      const flags = await putAndSubscribe(names(20));
      await bench.api.deleteCrd();
      await bench.pass(5_000);
      await bench.until(() => flags.every((flag) => last(flag) === "stale"), "all are stale");
      await bench.pass(40_000, 1_000);
      for (const flag of flags) expect(flag.reported.slice(1)).to.deep.equal(["stale"]);
      expect(bench.logged(outage)).to.have.length(1);
      expect(bench.logged(outage)[0]?.reason).to.contain("install the CustomResourceDefinition");
      bench.api.createCrd();
      const [kept, ...lost] = flags as [Subscribed, ...Subscribed[]];
      const { metadata } = bench.put(kept.topic, 2);
      await bench.pass(30_000);
      await bench.until(() => lost.every((flag) => last(flag) === "deleted"), "the deletions");
      await bench.until(() => last(kept) === metadata.resourceVersion, "the one that is there again");
      expect(kept.reported).not.to.include("deleted");
    });
  });

  describe("where many of a namespace are deleted", () => {
    let flags: Subscribed[];
    beforeEach(async () => {
      bench = await SourceBench.start();
      flags = await putAndSubscribe(names(40));
      await bench.watches("ns/*");
    });

    it("confirms all of them by one read", async () => {
      const requests = bench.api.requests.length;
      for (const { topic } of flags) bench.delete(topic);
      await bench.soon(() => events("DELETED") === 40, "the events");
      await bench.pass(2_980, 20);
      expect(bench.api.requests).to.have.length(requests);
      await bench.until(() => flags.every((flag) => last(flag) === "deleted"), "the deletions");
      const since = bench.api.requests.slice(requests);
      expect(since[0]).to.include({ kind: "watchlist", name: undefined });
      expect(since.filter(({ name }) => name === undefined)).to.have.length(1);
    });

    it("confirms a few of them one by one", async () => {
      const requests = bench.api.requests.length;
      for (const { topic } of flags.slice(0, 3)) bench.delete(topic);
      await bench.until(() => flags.slice(0, 3).every((flag) => last(flag) === "deleted"), "the deletions");
      expect(
        bench.api.requests
          .slice(requests)
          .map(({ name }) => name)
          .sort(),
      ).to.deep.equal(["flag-000", "flag-001", "flag-002"]);
      await bench.watches("ns/*");
    });

    it("with the whole type, asks for the namespace and not for each of them while the type is gone", async () => {
      const requests = bench.api.requests.length;
      await bench.api.deleteCrd();
      await bench.pass(5_000);
      await bench.until(() => flags.every((flag) => last(flag) === "stale"), "all are stale");
      await bench.pass(90_000, 1_000);
      expect(bench.api.requests.slice(requests).filter(({ name }) => name !== undefined)).to.have.length(0);
      for (const flag of flags) expect(flag.reported.slice(1)).to.deep.equal(["stale"]);
      bench.api.createCrd();
      await bench.pass(30_000);
      await bench.until(() => flags.every((flag) => last(flag) === "deleted"), "the deletions");
    });
  });

  it("confirms a deletion also if one before it was being confirmed when the FeatureFlag came back", async () => {
    bench = await SourceBench.start({ planning: { watchScope: "namespace" } });
    const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
    await bench.watches("ns/*");
    bench.delete("ns/a");
    await bench.soon(() => events("DELETED") === 1, "the event");
    let release = (): void => undefined;
    bench.api.fault({ name: "a" }, faults.heldUntil(new Promise((resolve) => (release = resolve))));
    const requests = bench.api.requests.length;
    await bench.until(() => bench.api.requests.length > requests, "the read that is to confirm it");
    bench.put("ns/a", 2);
    bench.delete("ns/a");
    await bench.soon(() => events("DELETED") === 2, "the events");
    release();
    await isTold(flag, "2", "4", "deleted");
    await bench.watches("ns/*");
  });

  describe("where more are guessed than may be watched", () => {
    it("keeps 512 watches, and reads the others in turn, four a second", async () => {
      bench = await SourceBench.start();
      const flags = names(530).map((topic) => bench.subscribe(topic));
      await bench.until(() => flags.every((flag) => last(flag) === "missing"), "all are missing");
      await bench.until(() => bench.scopes.length <= 513, "512 watches and one turn");
      expect(bench.metrics.watches?.().unwatched).to.be.within(17, 18);
      expect(bench.metrics.watches?.().open.object).to.be.within(512, 513);
      const watched = new Set(bench.scopes);
      const unwatched = flags.filter(({ topic }) => !watched.has(topic)).slice(-5);
      for (const { topic } of unwatched) bench.put(topic, 1);
      await bench.pass(250 * 19, 50);
      await bench.until(() => unwatched.every((flag) => last(flag) !== "missing"), "those that came to be");
      // They exist now, so they keep a watch.
      await bench.until(() => unwatched.every(({ topic }) => bench.scopes.includes(topic)), "their watches");
      const gone = flags.filter(({ topic }) => watched.has(topic)).slice(0, 20);
      for (const flag of gone) flag.stop();
      await bench.until(() => bench.metrics.watches?.().unwatched === 0, "a watch for everyone");
      await bench.until(() => bench.scopes.length === 510, "510 watches");
    });
  });

  describe("where watches become wider and narrower", () => {
    const namespaceScope = "ns/*";
    let flags: Subscribed[];

    /** Every sink of the test received versions in order, each once, and none was lost at the end. */
    function noneLostNoneTwice(): void {
      for (const flag of flags) {
        const written = bench.api.log.flatMap(({ type, revision, stored }) =>
          `${stored.namespace}/${stored.name}` === flag.topic && type !== "DELETED" ? [String(revision)] : [],
        );
        const documents = flag.reported.filter((what) => /^\d+$/.test(what));
        expect(documents, flag.topic).to.deep.equal([...new Set(documents)]);
        expect(documents.map(Number), flag.topic).to.deep.equal(documents.map(Number).sort((a, b) => a - b));
        expect(documents.at(-1)).to.equal(written.at(-1));
      }
    }

    it("has 31 watches for 31 FeatureFlags, and one for 32; the object watches go when the namespace watch is in sync", async () => {
      bench = await SourceBench.start();
      const topics = names(32);
      flags = await putAndSubscribe(topics.slice(0, 31));
      await bench.watches(...topics.slice(0, 31));
      let wide: OpenWatch | undefined;
      bench.api.onWatch({ name: null }, (watch) => {
        watch.hold();
        wide = watch;
      });
      flags.push(...(await putAndSubscribe(topics.slice(31))));
      await bench.watches(...topics, namespaceScope);
      await bench.pass(1_000);
      bench.put("ns/flag-003", 2);
      await bench.soon(() => last(at(flags, 3)) === "34", "the edit by its object watch");
      expect(bench.scopes).to.have.length(33);
      wide?.release();
      await bench.watches(namespaceScope);
      bench.put("ns/flag-003", 3);
      await bench.soon(() => last(at(flags, 3)) === "35", "the edit by the namespace watch");
      noneLostNoneTwice();
      expect(flags.flatMap(({ reported }) => reported)).to.have.length(34);
    });

    it("brings nothing back by a namespace watch that is behind the object watches", async () => {
      bench = await SourceBench.start();
      bench.api.onWatch({ name: null }, (watch) => {
        // Its state comes at once, later events only when the object watches are gone.
        setImmediate(() => setImmediate(() => watch.hold()));
      });
      flags = await putAndSubscribe(names(32));
      await bench.soon(
        () => bench.scopes.includes(namespaceScope) || (bench.clock.advance(10), false),
        "the namespace watch",
      );
      const wide = watchedAs(namespaceScope);
      wide?.hold();
      bench.put("ns/flag-001", 2);
      bench.delete("ns/flag-002");
      bench.put("ns/flag-003", 2);
      bench.put("ns/flag-003", 3);
      await bench.pass(2_000, 100);
      wide?.release();
      await bench.watches(namespaceScope);
      await bench.until(() => last(at(flags, 2)) === "deleted", "the deletion");
      await bench.pass(5_000);
      expect(at(flags, 2).reported).to.deep.equal(["4", "deleted"]);
      flags.splice(2, 1);
      noneLostNoneTwice();
    });

    it("loses nothing, repeats nothing and revives nothing by object watches that are behind the namespace watch", async () => {
      bench = await SourceBench.start();
      const topics = names(32);
      flags = await putAndSubscribe(topics);
      await bench.watches(namespaceScope);
      const narrow: OpenWatch[] = [];
      bench.api.onWatch(
        { kind: "watchlist", where: ({ name }) => name !== undefined },
        (watch) => {
          watch.hold();
          narrow.push(watch);
        },
        16,
      );
      for (const flag of flags.splice(16)) flag.stop();
      await bench.until(() => narrow.length === 16, "object watches");
      // They hold back the state of now; later events come by the namespace watch, which stays.
      bench.put("ns/flag-001", 2);
      bench.delete("ns/flag-002");
      bench.put("ns/flag-003", 2);
      await bench.soon(() => last(at(flags, 1)) === "34", "the edit by the namespace watch");
      await bench.soon(() => events("DELETED") === 1, "the deletion by the namespace watch");
      for (const watch of narrow.slice(0, 15)) watch.release();
      await bench.pass(1_000, 50);
      expect(bench.scopes).to.include(namespaceScope);
      bench.put("ns/flag-015", 2);
      await bench.soon(() => last(at(flags, 15)) === "37", "an edit of the one that is still held");
      narrow[15]?.release();
      await bench.watches(...topics.slice(0, 16));
      bench.put("ns/flag-015", 3);
      await bench.until(() => last(at(flags, 15)) === "38", "an edit by the object watch");
      await bench.until(() => last(at(flags, 2)) === "deleted", "the deletion");
      expect(at(flags, 2).reported).to.deep.equal(["4", "deleted"]);
      flags.splice(2, 1);
      noneLostNoneTwice();
    });

    it("keeps 17 together, and adds one that comes while the namespace watch is there", async () => {
      bench = await SourceBench.start();
      flags = await putAndSubscribe(names(32));
      await bench.watches(namespaceScope);
      for (const flag of flags.splice(17)) flag.stop();
      await bench.pass(1_000, 50);
      expect(bench.scopes).to.deep.equal([namespaceScope]);
      flags.push(...(await putAndSubscribe(["ns/another"])));
      await bench.watches(namespaceScope);
      bench.put("ns/another", 2);
      await bench.soon(() => flags.at(-1)?.reported.length === 2, "its edit");
      noneLostNoneTwice();
    });

    it("never asks for single FeatureFlags where the cluster watch takes over a namespace, or gives it back", async () => {
      const limits: Partial<PlanLimits> = {
        namespaceFrom: 4,
        namespaceDownTo: 2,
        maxNamespaceWatches: 2,
        maxWatches: 100,
      };
      bench = await SourceBench.start({ planning: { limits, watchScope: "auto" } });
      flags = [...(await putAndSubscribe(names(6, "a"))), ...(await putAndSubscribe(names(6, "b")))];
      await bench.watches("a/*", "b/*");
      const single = (): number => bench.api.requests.filter(({ name }) => name !== undefined).length;
      const third = await putAndSubscribe(names(3, "c"));
      const before = single();
      third.push(...(await putAndSubscribe(["c/another"])));
      await bench.watches("*/*");
      // The new FeatureFlag, because of which the watches became wider.
      expect(single() - before).to.equal(1);
      bench.put("a/flag-000", 7);
      await bench.soon(() => at(flags, 0).reported.length === 2, "an edit");
      for (const flag of [...third, ...flags.splice(6)]) flag.stop();
      await bench.watches("a/*");
      expect(single() - before).to.equal(1);
      bench.put("a/flag-000", 8);
      await bench.soon(() => at(flags, 0).reported.length === 3, "another edit");
      noneLostNoneTwice();
    });
  });

  describe("where RBAC", () => {
    it("allows no namespace, watches one by one, logs that, and asks again after 5 minutes", async () => {
      bench = await SourceBench.start();
      bench.api.setAllowed(({ name }) => name !== undefined);
      const topics = names(33);
      await putAndSubscribe(topics);
      await bench.watches(...topics);
      const refusals = (): number =>
        bench.log.filter(({ msg }) => msg.startsWith("RBAC does not allow")).length;
      await bench.until(() => refusals() > 0, "the line");
      const reviews = bench.api.count("review");
      const minutes = async (count: number): Promise<void> => {
        for (let minute = 0; minute < count; minute++) {
          bench.api.bookmark();
          await bench.pass(60_000, 20_000);
        }
      };
      await minutes(4);
      expect(bench.api.count("review")).to.equal(reviews);
      expect(
        bench.api.requests.filter(({ kind, name }) => kind !== "review" && name === undefined),
      ).to.have.length(0);
      bench.api.setAllowed(() => true);
      await minutes(2);
      await bench.watches("ns/*");
      expect(bench.api.count("review")).to.equal(reviews + 2);
      expect(refusals()).to.equal(1);
    });

    it("takes a namespace away, goes back to one by one, and loses nothing", async () => {
      bench = await SourceBench.start();
      const topics = names(33);
      const flags = await putAndSubscribe(topics);
      await bench.watches("ns/*");
      bench.api.setAllowed(({ name }) => name !== undefined);
      await bench.pass(1_000);
      watchedAs("ns/*")?.end();
      bench.put("ns/flag-000", 2);
      await bench.watches(...topics);
      await isTold(at(flags, 0), "2", "35");
      await bench.pass(10_000, 500);
      for (const flag of flags.slice(1)) expect(flag.reported).to.have.length(1);
      expect(bench.logged(outage)).to.have.length(0);
    });

    it("allows a namespace whose watch is then refused, tries twice more, and not again for minutes", async () => {
      bench = await SourceBench.start();
      bench.api.setAllowed(({ name }) => name !== undefined);
      bench.api.setReviewAnswer(() => true);
      const topics = names(33);
      await putAndSubscribe(topics);
      await bench.until(
        () =>
          bench.api.requests.some(
            ({ kind, name, status }) => kind !== "review" && name === undefined && status === 403,
          ),
        "a refusal",
      );
      await bench.watches(...topics);
      await bench.pass(30_000, 1_000);
      expect(
        bench.api.requests.filter(({ kind, name }) => kind !== "review" && name === undefined),
      ).to.have.length(3);
    });

    it("refuses one FeatureFlag only, reports the others as usual", async () => {
      bench = await SourceBench.start();
      bench.api.setAllowed(({ name }) => name !== "flag-001");
      bench.put("ns/flag-000", 1);
      bench.put("ns/flag-001", 1);
      const [allowed, refused] = ["ns/flag-000", "ns/flag-001"].map((topic) => bench.subscribe(topic)) as [
        Subscribed,
        Subscribed,
      ];
      await isTold(allowed, "2");
      await isTold(refused, "stale");
      expect(bench.logged(outage)).to.have.length(1);
      bench.api.setAllowed(() => true);
      await isTold(refused, "stale", "3");
      await bench.until(() => bench.logged(over).length === 1, "the end of the outage");
      expect(allowed.reported).to.deep.equal(["2"]);
    });
  });

  describe("in an outage", () => {
    it("reports everything stale after 5 s, logs that once, and repeats what is unchanged when it is over", async () => {
      bench = await SourceBench.start();
      const flags = await putAndSubscribe(names(5));
      const absent = bench.subscribe("ns/absent");
      await isTold(absent, "missing");
      await bench.api.stop();
      await bench.soon(() => (bench.metrics.counts["sourceError"] ?? 0) >= 6, "failures");
      await bench.pass(4_980, 20);
      for (const flag of [...flags, absent]) expect(flag.reported).to.have.length(1);
      expect(bench.logged(outage)).to.have.length(0);
      await bench.pass(20);
      await bench.soon(() => [...flags, absent].every((flag) => last(flag) === "stale"), "stale");
      await bench.pass(60_000, 1_000);
      for (const flag of flags) expect(flag.reported.slice(1)).to.deep.equal(["stale"]);
      expect(bench.logged(outage)).to.have.length(1);
      expect(bench.logged(outage)[0]).to.include({ level: "warn", watches: 6 });
      await bench.api.resume();
      await bench.until(() => [...flags, absent].every((flag) => flag.reported.length === 3), "all is well");
      for (const { reported } of flags) expect(reported[2]).to.equal(reported[0]);
      expect(last(absent)).to.equal("missing");
      await bench.until(() => bench.logged(over).length === 1, "the line that it is over");
    });

    it("of less than 5 s reports nothing", async () => {
      bench = await SourceBench.start();
      const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
      for (let count = 0; count < 3; count++) {
        watchedAs("ns/a")?.reset();
        await bench.until(() => watchedAs("ns/a") === undefined, "the end");
        await bench.watches("ns/a");
      }
      await bench.pass(10_000);
      expect(flag.reported).to.deep.equal(["2"]);
      expect(bench.logged(outage)).to.have.length(0);
    });

    it("of the namespace watch only, reports nothing stale that has an object watch", async () => {
      bench = await SourceBench.start();
      bench.api.fault({ name: null, kind: "watch" }, faults.answer(503, "not ready\n"), Infinity);
      const flags = await putAndSubscribe(names(32));
      await bench.until(() => bench.logged(outage).length > 0, "the outage");
      await bench.pass(20_000, 500);
      expect(bench.logged(outage)).to.have.length(1);
      for (const flag of flags) expect(flag.reported).to.have.length(1);
      bench.put("ns/flag-000", 2);
      await isTold(at(flags, 0), "2", "34");
      bench.api.clearFaults();
      await bench.watches("ns/*");
      await bench.until(() => bench.logged(over).length === 1, "the end of the outage");
      for (const flag of flags.slice(1)) expect(flag.reported).to.have.length(1);
    });

    it("of a namespace watch that is closed in good order and resumes after more than 5 s, says of each that it is over", async () => {
      bench = await SourceBench.start({ timing: { watchHeaderTimeoutMs: 600_000 } });
      const flags = await putAndSubscribe(names(32));
      await bench.watches("ns/*");
      await bench.pass(1_000);
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      bench.api.fault({ name: null, kind: "watch" }, faults.heldUntil(released));
      watchedAs("ns/*")?.end();
      await bench.until(() => flags.every((flag) => last(flag) === "stale"), "stale");
      release();
      await bench.watches("ns/*");
      await bench.pass(10_000);
      for (const { reported } of flags) expect(reported).to.deep.equal([reported[0], "stale", reported[0]]);
    });

    it("reports also those stale that are read in turn, and says of each when it is over", async () => {
      bench = await SourceBench.start({ planning: { watchScope: "object", limits: { maxExisting: 2 } } });
      const topics = names(4);
      const flags = await putAndSubscribe(topics);
      await bench.watches(...topics.slice(0, 2));
      expect(bench.metrics.watches?.().unwatched).to.equal(2);
      await bench.api.stop();
      await bench.pass(60_000);
      for (const { reported } of flags) expect(reported).to.deep.equal([reported[0], "stale"]);
      await bench.api.resume();
      await bench.until(() => flags.every(({ reported }) => reported.length === 3), "all is well");
      for (const { reported } of flags) expect(reported[2]).to.equal(reported[0]);
    });

    for (const [isLeft, how] of [
      [false, "while a FeatureFlag is refused, and so is its end"],
      [true, "after a FeatureFlag was refused that nobody is subscribed to any more"],
    ] as const) {
      it(`is logged also ${how}`, async () => {
        bench = await SourceBench.start();
        bench.api.setAllowed(({ name }) => name !== "refused");
        const [allowed] = (await putAndSubscribe(["ns/allowed"])) as [Subscribed];
        const refused = bench.subscribe("ns/refused");
        await bench.until(() => bench.logged(outage).length === 1, "the refusal");
        if (isLeft) refused.stop();
        await bench.pass(1_000);
        await bench.api.stop();
        await bench.until(() => bench.logged(outage).length === 2, "the outage");
        await bench.until(() => last(allowed) === "stale", "stale");
        await bench.api.resume();
        const end = isLeft ? over : "FeatureFlags are watched again, except those that RBAC refuses";
        await bench.until(() => bench.logged(end).length === 1, "the end of the outage");
      });
    }

    it("is logged also while nobody is subscribed, and so is its end", async () => {
      bench = await SourceBench.start();
      bench.api.fault({}, faults.answer(503, "not ready\n"), Infinity);
      await bench.until(() => bench.logged(outage).length === 1, "the line");
      expect(bench.logged(outage)[0]).to.include({ level: "warn", code: "SERVER_ERROR" });
      await bench.pass(20_000, 500);
      expect(bench.logged(outage)).to.have.length(1);
      bench.api.clearFaults();
      await bench.until(() => bench.logged("the API server answers").length === 1, "the end");
    });

    it("names the remedy where it knows one", async () => {
      bench = await SourceBench.start();
      bench.api.fault({ kind: "watch" }, faults.answer(403, status(403, "Forbidden", "no")), Infinity);
      bench.subscribe("ns/a");
      await bench.until(() => bench.logged(outage).length === 1, "the line");
      expect(bench.logged(outage)[0]?.reason).to.contain(
        "allow this user to get, list and watch featureflags",
      );
    });
  });

  describe("that is asked to read a FeatureFlag once more", () => {
    const reads = (): number =>
      bench.api.requests.filter(({ kind, name }) => kind !== "review" && name === "flag-000").length;
    let flags: Subscribed[];
    const refresh = (topic: string, done: () => void): (() => void) =>
      bench.source.refresh(topic as TopicKey, done);

    for (const count of [1, 40]) {
      it(`does so where its watch of ${count} is behind, and only then calls back`, async () => {
        bench = await SourceBench.start();
        const [flag] = (await putAndSubscribe(names(count))) as [Subscribed];
        const scopes = count === 1 ? ["ns/flag-000"] : ["ns/*"];
        await bench.watches(...scopes);
        for (const watch of bench.api.watches()) watch.hold();
        const { metadata } = bench.put("ns/flag-000", 2);
        await bench.pass(1_000);
        expect(flag.reported).to.have.length(1);
        const toldWhenDone: string[] = [];
        refresh("ns/flag-000", () => toldWhenDone.push(last(flag)));
        expect(toldWhenDone, "from within the call").to.deep.equal([]);
        await bench.until(() => toldWhenDone.length === 1, "the read");
        expect(toldWhenDone).to.deep.equal([metadata.resourceVersion]);
        for (const watch of bench.api.watches()) watch.release();
        await bench.watches(...scopes);
        bench.put("ns/flag-000", 3);
        await bench.until(() => flag.reported.length === 3, "the next edit");
      });
    }

    describe("during such a read", () => {
      let release: () => void;
      let done: number;
      const ask = (): void => void refresh("ns/flag-000", () => done++);

      beforeEach(async () => {
        bench = await SourceBench.start();
        flags = await putAndSubscribe(names(1));
        await bench.watches("ns/flag-000");
        done = 0;
        const released = new Promise<void>((resolve) => (release = resolve));
        const held = bench.api.fault({ kind: "list" }, faults.heldUntil(released));
        for (let i = 0; i < 100; i++) ask();
        await bench.until(() => held.struck === 1, "the read");
        bench.clock.advance(1);
        for (let i = 0; i < 100; i++) ask();
      });

      it("reads once more, for all that asked meanwhile", async () => {
        const before = reads();
        release();
        await bench.soon(() => done === 100, "those that asked before it");
        await bench.until(() => done === 200, "all");
        await bench.pass(3_000);
        expect(reads() - before).to.equal(1);
      });

      it("does not read again once it stops", async () => {
        const before = reads();
        release();
        await bench.soon(() => done === 100, "those that asked before it");
        await bench.stop();
        expect([done, reads() - before, bench.clock.pendingTimers]).to.deep.equal([100, 0, 0]);
      });

      it("does not read again once it is not subscribed to", async () => {
        const before = reads();
        release();
        await bench.soon(() => done === 100, "those that asked before it");
        at(flags, 0).stop();
        await bench.pass(3_000);
        expect([done, reads() - before]).to.deep.equal([100, 0]);
      });
    });

    /** A FeatureFlag that is gone, which its watch has not reported. */
    const goneUnseen = async (): Promise<Subscribed> => {
      bench = await SourceBench.start();
      const [flag] = (await putAndSubscribe(names(1))) as [Subscribed];
      await bench.watches("ns/flag-000");
      bench.api.watches()[0]?.hold();
      bench.delete("ns/flag-000");
      return flag;
    };

    it("calls back for one that is gone when that is confirmed, not when it first seems so", async () => {
      const flag = await goneUnseen();
      const before = reads();
      const toldWhenDone: string[] = [];
      refresh("ns/flag-000", () => toldWhenDone.push(last(flag)));
      await bench.until(() => toldWhenDone.length === 1, "the confirmation");
      expect(toldWhenDone).to.deep.equal(["deleted"]);
      expect(reads() - before).to.be.within(2, 6);
    });

    it("calls back for one that seemed gone and is back", async () => {
      const flag = await goneUnseen();
      const before = reads();
      let done = 0;
      refresh("ns/flag-000", () => done++);
      await bench.until(() => reads() === before + 1, "the first read");
      await bench.pass(500);
      expect(done).to.equal(0);
      bench.put("ns/flag-000", 2);
      await bench.until(() => done === 1, "the read");
      await isTold(flag, "2", "4");
    });

    it("calls back when the API server can be read again, and not before", async () => {
      bench = await SourceBench.start();
      await putAndSubscribe(names(1));
      await bench.api.stop();
      let done = 0;
      refresh("ns/flag-000", () => done++);
      await bench.pass(5_000);
      expect(done).to.equal(0);
      await bench.api.resume();
      await bench.until(() => done === 1, "the read");
    });
  });

  describe("where history was cut", () => {
    for (const count of [20, 40]) {
      it(`takes what is there then, of ${count}, and logs that once`, async () => {
        bench = await SourceBench.start();
        const flags = await putAndSubscribe(names(count));
        await bench.watches(...(count === 40 ? ["ns/*"] : names(count)));
        const backup = bench.api.backup();
        for (const { topic } of flags) bench.put(topic, 2);
        bench.put("ns/lost", 1);
        const lost = bench.subscribe("ns/lost");
        await bench.until(
          () => flags.every(({ reported }) => reported.length === 2) && lost.reported.length === 1,
          "edits",
        );
        bench.api.restoreEtcd(backup);
        await bench.until(() => flags.every(({ reported }) => reported[0] === reported.at(-1)), "what was");
        await bench.until(() => last(lost) === "deleted", "the one that never was");
        for (const { topic } of flags) bench.put(topic, 3);
        await bench.until(() => flags.every(({ reported }) => Number(reported.at(-1)) > count + 1), "edits");
        const lines = bench.log.filter(({ msg }) => msg.startsWith("the API server's history was cut"));
        expect(lines).to.have.length(1);
      });
    }

    it("reads anew whom FeatureFlags are shared with, too: that watch may be open and silent", async () => {
      bench = await SourceBench.start({ readsReaders: true });
      await putAndSubscribe(["ns/a"]);
      const readers = (): string => [...((bench.source.readersOf("ns/b") ?? []) as Iterable<string>)].join();
      bench.put("ns/b", 1, { "bunting.dev/readers": "shop" });
      await bench.until(() => readers() === "shop", "the readers");
      const backup = bench.api.backup();
      for (let edit = 0; edit < 5; edit++) bench.put("ns/b", 1, { "bunting.dev/readers": `shop,web${edit}` });
      await bench.until(() => readers() === "shop,web4", "later readers");
      // The watches stay open, so that only a read can find out.
      bench.api.restoreEtcd(backup, { keepConnections: true });
      const restoredMs = bench.clock.monotonicMs();
      bench.subscribe("ns/c");
      await bench.until(() => readers() === "shop", "the readers of the backup");
      expect(bench.clock.monotonicMs() - restoredMs, "sooner than a silent watch is given up").to.be.below(
        1_000,
      );
    });

    it("and the count of versions has passed what was seen, finds out by a FeatureFlag that is older than it was", async () => {
      bench = await SourceBench.start();
      const [flag] = (await putAndSubscribe(["ns/a"])) as [Subscribed];
      const backup = bench.api.backup();
      bench.put("ns/a", 2);
      await isTold(flag, "2", "3");
      bench.api.restoreEtcd(backup);
      bench.api.advance(50);
      await isTold(flag, "2", "3", "2");
      bench.put("ns/a", 3);
      await isTold(flag, "2", "3", "2", "53");
    });
  });
});
