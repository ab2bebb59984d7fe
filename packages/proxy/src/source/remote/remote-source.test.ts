import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { checkOptions } from "@bunting/backplane";
import type { RemoteKind, SecretsRead } from "@bunting/remote";
import { systemClock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { setImmediate } from "node:timers/promises";
import { fast } from "../backplane/backplane.fixture.js";

import {
  documentOf,
  flagsOf,
  languageOf,
  manyKeys,
  providerOf,
  RemoteCluster,
  RemoteReplica,
  ScriptedRemotes,
  topic,
  type RemoteReplicaOptions,
} from "./remote.fixture.js";
import type { RemoteLanguage } from "./remote-language.js";
import type { RecordingSink } from "../source.fixture.js";

const uri = "https://remote.test/a";
const failure = { reason: "Status", message: "the remote answers 503" };

/** Turns of the event loop in which promises settle. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}

describe("RemoteSource", () => {
  const replicas: RemoteReplica[] = [];
  let clock: ManualClock;
  let cluster: RemoteCluster;
  let remotes: ScriptedRemotes;
  beforeEach(() => {
    clock = new ManualClock();
    cluster = new RemoteCluster();
    remotes = new ScriptedRemotes(clock);
  });
  afterEach(async () => {
    for (const replica of replicas.splice(0)) await replica.stop();
    expect(clock.pendingTimers, "timers left").to.equal(0);
  });
  const start = (options: Partial<RemoteReplicaOptions> = {}): RemoteReplica => {
    const replica = new RemoteReplica({ clock, cluster, remotes, ...options });
    replicas.push(replica);
    return replica;
  };
  const pass = async (ms: number): Promise<void> => {
    await settled();
    clock.advance(ms);
    await settled();
  };
  const local = (version: number, keys: readonly string[] = ["both", "own"]) =>
    documentOf("local", version, keys);
  const remote = (version: number, keys: readonly string[] = ["both", "far"]) =>
    documentOf("remote", version, keys);

  it("passes what has no provider as it comes, and asks no remote", async () => {
    cluster.publish(local(1));
    const sink = start().watch();
    await settled();
    expect(flagsOf(sink)).to.deep.equal({ both: "local 1", own: "local 1" });
    await pass(60_000);
    expect(sink.events).to.have.length(1);
    expect(remotes.asked.size).to.equal(0);
    expect(replicas[0]?.source.remoteOf(topic)).to.equal(undefined);
  });

  for (const [strategy, expected] of [
    ["merge", { both: "local 1", own: "local 1", far: "remote 1" }],
    ["override", { both: "remote 1", own: "local 1", far: "remote 1" }],
    ["replace", { both: "remote 1", far: "remote 1" }],
  ] as const)
    it(`serves both sides by the strategy ${strategy}, with one document to begin with`, async () => {
      remotes.says.set(uri, remote(1));
      cluster.publish(local(1), providerOf({ strategy }));
      const replica = start();
      const sink = replica.watch();
      await settled();
      expect(flagsOf(sink)).to.deep.equal(expected);
      expect(sink.events).to.have.length(1);
      const sides = Object.entries(expected).map(([key, value]) => [key, value.split(" ")[0]]);
      expect([...(replica.source.remoteOf(topic)?.provenance ?? [])].sort()).to.deep.equal(sides.sort());
    });

  it("tells an edit of the FeatureFlag at once, and one of the remote after its interval", async () => {
    remotes.says.set(uri, remote(1));
    cluster.publish(local(1), providerOf());
    const sink = start().watch();
    await settled();
    cluster.publish(local(2), providerOf());
    expect(flagsOf(sink)["own"]).to.equal("local 2");
    expect(flagsOf(sink)["far"]).to.equal("remote 1");
    remotes.says.set(uri, remote(2));
    await pass(5_000);
    expect(flagsOf(sink)).to.deep.equal({ both: "local 2", own: "local 2", far: "remote 2" });
    expect(remotes.asked.get(uri)).to.equal(2);
  });

  it("asks nothing anew for another strategy", async () => {
    remotes.says.set(uri, remote(1));
    cluster.publish(local(1), providerOf());
    const sink = start().watch();
    await settled();
    cluster.publish(local(2), providerOf({ strategy: "replace" }));
    expect(flagsOf(sink)).to.deep.equal({ both: "remote 1", far: "remote 1" });
    await settled();
    expect(remotes.asked.get(uri)).to.equal(1);
  });

  it("serves the FeatureFlag's own flags when a remote that was never read says nothing for two seconds", async () => {
    cluster.publish(local(1), providerOf({ strategy: "replace" }));
    const replica = start();
    const sink = replica.watch();
    await pass(1_999);
    expect(sink.events).to.deep.equal([]);
    await pass(1);
    expect(flagsOf(sink)).to.deep.equal({ both: "local 1", own: "local 1" });
    expect(sink.last?.kind).to.equal("document");
    remotes.says.set(uri, failure);
    await pass(5_000);
    expect(replica.source.remoteOf(topic)).to.include({ state: "never", reason: "Status" });
    remotes.says.set(uri, remote(1));
    await pass(5_000);
    expect(flagsOf(sink)).to.deep.equal({ both: "remote 1", far: "remote 1" });
    expect(replica.source.remoteOf(topic)).to.include({ state: "synced", reason: undefined });
  });

  it("keeps the last document of a remote that fails, which is stale after three intervals, while its topic is not", async () => {
    remotes.says.set(uri, remote(1));
    cluster.publish(local(1), providerOf());
    const replica = start();
    const sink = replica.watch();
    await settled();
    remotes.says.set(uri, failure);
    await pass(10_000);
    expect(replica.source.remoteOf(topic)).to.include({ state: "synced", reason: "Status" });
    await pass(5_000);
    expect(replica.source.remoteOf(topic)).to.include({ state: "stale", reason: "Status" });
    cluster.publish(local(2), providerOf());
    expect(flagsOf(sink)).to.deep.equal({ both: "local 2", own: "local 2", far: "remote 1" });
    expect(sink.events.every(({ kind }) => kind === "document")).to.equal(true);
    expect(replica.counts()).to.include({ merged: 1, oldestAnswerMs: 15_000 });
    expect(replica.counts().states).to.include({ stale: 1, synced: 0 });
  });

  it("holds an answer that takes more than ten flags away, unless the FeatureFlag allows it", async () => {
    remotes.says.set(uri, remote(1, manyKeys(11)));
    cluster.publish(local(1), providerOf());
    const replica = start();
    const sink = replica.watch();
    await settled();
    remotes.says.set(uri, { flags: {} });
    await pass(5_000);
    expect(replica.source.remoteOf(topic)).to.include({ state: "held", reason: "Emptied" });
    expect(Object.keys(flagsOf(sink))).to.have.length(13);
    cluster.publish(local(2), providerOf({ allowEmpty: true }));
    await settled();
    expect(flagsOf(sink)).to.deep.equal({ both: "local 2", own: "local 2" });
    expect(replica.source.remoteOf(topic)?.state).to.equal("synced");
  });

  it("takes an answer that takes ten flags away", async () => {
    remotes.says.set(uri, remote(1, manyKeys(10)));
    cluster.publish(local(1), providerOf());
    const replica = start();
    const sink = replica.watch();
    await settled();
    remotes.says.set(uri, { flags: {} });
    await pass(5_000);
    expect(flagsOf(sink)).to.deep.equal({ both: "local 1", own: "local 1" });
    expect(replica.source.remoteOf(topic)?.state).to.equal("synced");
  });

  it("reads nothing while it may not read the Secret, says so, and reads with what it holds when it may", async () => {
    let read: SecretsRead = {
      kind: "forbidden",
      failure: { reason: "CredentialsForbidden", message: "grant it" },
    };
    remotes.says.set(uri, remote(1));
    cluster.publish(local(1), providerOf({ credentials: { secretRef: { name: "s", key: "k" } } }));
    const replica = start({ secrets: () => read });
    const sink = replica.watch();
    await pass(2_000);
    expect(replica.source.remoteOf(topic)).to.include({ state: "forbidden", message: "grant it" });
    expect(flagsOf(sink)).to.deep.equal({ both: "local 1", own: "local 1" });
    expect(remotes.asked.size).to.equal(0);
    read = { kind: "read", values: { credential: "one" } };
    await pass(5_000);
    expect(flagsOf(sink)["far"]).to.equal("remote 1");
    read = { kind: "read", values: { credential: "two" } };
    await pass(5_000);
    expect(remotes.presented.get(uri)).to.equal("two");
    read = { kind: "unknown", failure: { reason: "CredentialsUnknown", message: "the API server is away" } };
    remotes.says.set(uri, remote(2));
    await pass(5_000);
    expect(flagsOf(sink)["far"]).to.equal("remote 2");
    read = { kind: "forbidden", failure: { reason: "CredentialsForbidden", message: "grant it" } };
    await pass(5_000);
    const { asked } = remotes;
    const before = asked.get(uri);
    await pass(20_000);
    expect(asked.get(uri)).to.equal(before);
    expect(replica.source.remoteOf(topic)?.state).to.equal("forbidden");
    expect(flagsOf(sink)["far"]).to.equal("remote 2");
  });

  it("serves what another address said until the new one says something", async () => {
    const other = "https://remote.test/b";
    remotes.says.set(uri, remote(1));
    cluster.publish(local(1), providerOf());
    const sink = start().watch();
    await settled();
    cluster.publish(local(2), providerOf({ uri: other }));
    await settled();
    expect(flagsOf(sink)).to.deep.equal({ both: "local 2", own: "local 2", far: "remote 1" });
    await pass(2_000);
    expect(flagsOf(sink)).to.deep.equal({ both: "local 2", own: "local 2" });
    remotes.says.set(other, remote(7));
    await pass(5_000);
    expect(flagsOf(sink)["far"]).to.equal("remote 7");
    expect(remotes.asked.get(uri)).to.equal(1);
  });

  it("leaves the remote with the provider, with the FeatureFlag, and with its last subscriber", async () => {
    remotes.says.set(uri, remote(1));
    const leaving = new AbortController();
    const replica = start();
    const sink = replica.watch(leaving.signal);
    const asked = (): number => remotes.asked.get(uri) ?? 0;
    for (const leave of [() => cluster.publish(local(2)), () => cluster.delete(), () => leaving.abort()]) {
      cluster.publish(local(1), providerOf());
      await settled();
      expect(flagsOf(sink)["far"]).to.equal("remote 1");
      leave();
      const before = asked();
      await pass(20_000);
      expect(asked()).to.equal(before);
    }
    expect(replica.source.remoteOf(topic)).to.equal(undefined);
  });

  it("serves the FeatureFlag's own flags beside a provider that can't be used, and says what is wrong", async () => {
    cluster.publish(local(1), providerOf({ uri: 7 }));
    const replica = start();
    const sink = replica.watch();
    await settled();
    expect(flagsOf(sink)).to.deep.equal({ both: "local 1", own: "local 1" });
    expect(replica.source.remoteOf(topic)).to.include({ state: "never", reason: "ProviderInvalid" });
  });

  describe("of which a merge takes many turns of the event loop", () => {
    const many = manyKeys(2_000).map((key) => `${key}-`);
    const has = (sink: RecordingSink, key: string, value: string): Promise<void> =>
      eventually(() => flagsOf(sink)[key] === value, `${key}: ${value}`);
    let replica: RemoteReplica;
    let sink: RecordingSink;
    beforeEach(async () => {
      remotes.says.set(uri, remote(1, [...many, "both"]));
      cluster.publish(local(1), providerOf());
      replica = start();
      sink = replica.watch();
      await has(sink, "both", "local 1");
    });
    const versions = (): readonly string[] =>
      sink.events.flatMap((event) =>
        event.kind === "document"
          ? `${/local \d/.exec(event.text)?.[0] ?? ""} ${event.version.resourceVersion}`
          : event.kind,
      );

    it("is told with the newest of each side, each with its version, though the sides change meanwhile", async () => {
      for (let version = 2; version <= 5; version++) cluster.publish(local(version), providerOf());
      await has(sink, "own", "local 5");
      expect(versions()).to.deep.equal(["local 1 101", "local 2 102", "local 5 105"]);
      expect(replica.source.remoteOf(topic)?.provenance?.size).to.equal(many.length + 2);
    });

    it("has the newest version of the FeatureFlag, if that is of the same flags", async () => {
      cluster.publish(local(2), providerOf());
      replica.cluster.renew(topic, "103");
      await has(sink, "own", "local 2");
      expect(versions()).to.deep.equal(["local 1 101", "local 2 103"]);
    });

    it("keeps no edit of the FeatureFlag away if what the remote says can't be merged", async () => {
      await replicas.splice(0)[0]?.stop();
      const language = languageOf(remotes);
      const failing: RemoteLanguage = {
        ...language,
        merging: function* (sides) {
          if (Object.hasOwn(sides.remote.flags, "poison")) throw new Error("it is too large");
          return yield* language.merging(sides);
        },
      };
      replica = start({ language: failing });
      sink = replica.watch();
      await has(sink, "both", "local 1");
      remotes.says.set(uri, remote(2, [...many, "both", "poison"]));
      await pass(5_000);
      await eventually(
        () => sink.last?.kind === "document" && sink.events.some(({ kind }) => kind === "stale"),
        "it has failed",
      );
      cluster.publish(local(2), providerOf());
      await has(sink, "own", "local 2");
      expect(flagsOf(sink)[many[0] ?? ""]).to.equal("remote 1");
    });

    it("is not told any more once the FeatureFlag, or its provider, is gone", async () => {
      cluster.publish(local(2), providerOf());
      cluster.publish(local(3));
      await pass(0);
      expect(versions()).to.deep.equal(["local 1 101", "local 3 103"]);
      cluster.publish(local(4), providerOf());
      await has(sink, "own", "local 4");
      cluster.publish(local(5), providerOf());
      cluster.delete();
      for (let turn = 0; turn < 10; turn++) await pass(0);
      expect(versions().slice(2)).to.deep.equal(["local 4 104", "deleted"]);
    });
  });

  it("says what it serves otherwise than the sides say, once in its log, and no more when that is over", async () => {
    const evaluators = (side: number) => ({ $evaluators: { vip: { "==": [{ var: "x" }, side] } } });
    const rule = { targeting: { if: [{ $ref: "vip" }, "on", "off"] } };
    const leftOut = `what the remote sent can't be served as a flag, and is left out: "bad"`;
    remotes.says.set(uri, { flags: { far: rule }, ...evaluators(2) });
    remotes.leftOut.set(uri, leftOut);
    cluster.publish({ flags: { own: rule }, ...evaluators(1) }, providerOf());
    const replica = start();
    replica.watch();
    await pass(5_000);
    const remarks = replica.source.remoteOf(topic)?.remarks ?? [];
    expect(remarks).to.have.length(2);
    expect(remarks[0]).to.equal(leftOut);
    expect(remarks[1]).to.match(/^the evaluator "vip" of the remote is served as "vip-[0-9a-f]{8}"/);
    const lines = (text: string): number => replica.lines.filter((line) => line.includes(text)).length;
    expect([lines("flags of a remote are left out"), lines("are not merged as they are")]).to.deep.equal([
      1, 1,
    ]);
    remotes.says.set(uri, { flags: { far: rule }, ...evaluators(1) });
    remotes.leftOut.clear();
    await pass(5_000);
    expect(replica.source.remoteOf(topic)?.remarks).to.deep.equal([]);
  });

  it("goes on after a defect in reading a remote, which it tells as a failure", async () => {
    cluster.publish(local(1), providerOf());
    const { says } = remotes;
    let isDefect = true;
    const kind: RemoteKind = {
      run: (reading, signal) => (isDefect ? Promise.reject(new Error("oops")) : remotes.run(reading, signal)),
    };
    const replica = start({ language: languageOf(kind) });
    const sink = replica.watch();
    await pass(2_000);
    expect(replica.source.remoteOf(topic)).to.include({ state: "never", reason: "Defect" });
    expect(flagsOf(sink)).to.deep.equal({ both: "local 1", own: "local 1" });
    isDefect = false;
    says.set(uri, remote(1));
    await pass(5_000);
    expect(flagsOf(sink)["far"]).to.equal("remote 1");
  });

  it("says that the FeatureFlag is stale while the cluster can't be read, and goes on with its remote", async () => {
    remotes.says.set(uri, remote(1));
    cluster.publish(local(1), providerOf());
    const replica = start();
    const sink = replica.watch();
    await settled();
    replica.cluster.stale(topic, new Error("the API server is away"));
    remotes.says.set(uri, remote(2));
    await pass(5_000);
    expect(flagsOf(sink)["far"]).to.equal("remote 2");
    expect(sink.last?.kind).to.equal("stale");
    cluster.publish(local(2), providerOf());
    expect(sink.last?.kind).to.equal("document");
  });

  describe("with --cache-dir", () => {
    let directory: TempDirectory;
    beforeEach(() => {
      directory = new TempDirectory();
    });
    afterEach(() => directory.remove());

    it("serves the remote's last document after a restart, while neither side can be read", async () => {
      remotes.says.set(uri, remote(1, manyKeys(12)));
      cluster.publish(local(1), providerOf());
      const before = start({ cacheDir: directory.path });
      before.watch();
      await settled();
      await before.stop();
      replicas.splice(0);
      remotes.says.set(uri, failure);
      const replica = start({ cacheDir: directory.path, isCut: true });
      const sink = replica.watch();
      replica.cluster.stale(topic, new Error("the API server is away"));
      await eventually(() => Object.keys(flagsOf(sink)).length === 14, "both sides");
    });

    it("keeps the remote's last document through a restart with a remote that says nothing, or takes all away", async () => {
      remotes.says.set(uri, remote(1, manyKeys(12)));
      cluster.publish(local(1), providerOf());
      const before = start({ cacheDir: directory.path });
      before.watch();
      await settled();
      await before.stop();
      replicas.splice(0);
      for (const said of ["silence", { flags: {} }] as const) {
        remotes.says.set(uri, said);
        const replica = start({ cacheDir: directory.path });
        const sink = replica.watch();
        await eventually(() => sink.lastText !== undefined, "the copy");
        expect(Object.keys(flagsOf(sink))).to.have.length(14);
        await pass(20_000);
        expect(Object.keys(flagsOf(sink))).to.have.length(14);
        if (said !== "silence") expect(replica.source.remoteOf(topic)?.state).to.equal("held");
        await replica.stop();
        replicas.splice(0);
      }
    });
  });
});

describe("RemoteSource of replicas that share Redis", () => {
  let redis: RedisServer;
  const replicas: RemoteReplica[] = [];
  let cluster: RemoteCluster;
  let remotes: ScriptedRemotes;
  before(function () {
    needsRedisServer(this);
  });
  beforeEach(async () => {
    redis = await RedisServer.start();
    cluster = new RemoteCluster();
    remotes = new ScriptedRemotes(systemClock);
  });
  afterEach(async () => {
    for (const replica of replicas.splice(0)) await replica.stop();
    await redis.stop();
  });
  const start = (): RemoteReplica => {
    const backplane = checkOptions({ address: redis.address, ...fast });
    const replica = new RemoteReplica({ clock: systemClock, cluster, remotes, backplane });
    replicas.push(replica);
    return replica;
  };
  const local = (version: number) => documentOf("local", version, ["both", "own"]);
  const remote = (version: number) => documentOf("remote", version, ["both", "far"]);
  const quick: Partial<RemoteFlagProvider> = { intervalMs: 100 };
  const owner = (): RemoteReplica | undefined =>
    replicas.find(({ source }) => source.remoteOf(topic)?.state !== undefined);

  it("has one of them read a remote, and the others follow it", async () => {
    remotes.says.set(uri, remote(1));
    cluster.publish(local(1), providerOf(quick));
    const sinks = [start(), start(), start()].map((replica) => replica.watch());
    const everyone = (key: string, value: string) =>
      eventually(() => sinks.every((sink) => flagsOf(sink)[key] === value), `${key}: ${value}`);
    await everyone("far", "remote 1");
    await eventually(
      () => replicas.filter(({ source }) => source.remoteOf(topic)?.state !== undefined).length === 1,
      "one reader",
    );
    for (let version = 2; version < 6; version++) {
      remotes.says.set(uri, remote(version));
      await everyone("far", `remote ${version}`);
      cluster.publish(local(version), providerOf(quick));
      await everyone("own", `local ${version}`);
    }
    for (const { source } of replicas)
      expect(Object.fromEntries(source.remoteOf(topic)?.provenance ?? [])).to.deep.equal({
        both: "local",
        own: "local",
        far: "remote",
      });
    expect(
      replicas.filter(({ backplaneMetrics }) => backplaneMetrics.counts["given_up"] !== undefined),
    ).to.deep.equal([]);
  });

  it("keeps the last document of a remote that is away through a change of its reader", async () => {
    remotes.says.set(uri, remote(1));
    cluster.publish(local(1), providerOf(quick));
    const sinks = [start(), start()].map((replica) => replica.watch());
    await eventually(() => sinks.every((sink) => flagsOf(sink)["far"] === "remote 1"), "both sides");
    await eventually(() => owner() !== undefined, "a reader");
    remotes.says.set(uri, failure);
    const leaving = owner();
    await leaving?.stop();
    replicas.splice(
      replicas.findIndex((replica) => replica === leaving),
      1,
    );
    await eventually(() => owner()?.source.remoteOf(topic)?.state === "stale", "another reader");
    const third = start().watch();
    await eventually(() => flagsOf(third)["far"] === "remote 1", "both sides at a new replica");
    cluster.publish(local(2), providerOf(quick));
    const left = [...sinks.filter((sink) => sink !== sinks[0] || leaving === undefined), third];
    await eventually(() => left.some((sink) => flagsOf(sink)["own"] === "local 2"), "an edit");
    for (const sink of [...sinks, third])
      for (const event of sink.events)
        if (event.kind === "document") expect(event.text).to.contain("remote 1");
  });
});
