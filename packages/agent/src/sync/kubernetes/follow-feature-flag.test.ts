import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FastClock } from "@bunting/test/support/fast-clock.js";
import {
  FaultyApiServer,
  faults,
  internalError,
  watchExpired,
} from "@bunting/test/support/faulty-api-server/index.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { createSources } from "../create-sources.js";
import type { SyncSource, SyncSourceOptions } from "../sync-source.js";
import { parseSources } from "../parse-sources.js";
import { noSyncMetrics } from "../sync-metrics.fixture.js";
import { SourceProbe } from "../sync.fixture.js";

const flag = (value: number) => ({ state: "ENABLED", variants: { v: value }, defaultVariant: "v" });
const spec = (value: number) => ({ flagSpec: { flags: { f: flag(value) } } });
const text = (value: number): string =>
  `{"flags":{"f":{"defaultVariant":"v","state":"ENABLED","variants":{"v":${value}}}}}`;

interface Running {
  readonly sources: readonly SyncSource[];
  readonly probe: SourceProbe;
  readonly stop: () => Promise<void>;
}

type GivenOptions = Partial<Omit<SyncSourceOptions, "context">> & {
  readonly context?: Partial<SyncSourceOptions["context"]>;
};

describe("a source of provider kubernetes", () => {
  let api: FaultyApiServer;
  let pod: TempDirectory;
  let running: Running[];
  beforeEach(async () => {
    running = [];
    api = await FaultyApiServer.start();
    pod = new TempDirectory();
    pod.replace("token", "first");
    pod.replace("ca.crt", api.ca.toString());
    pod.replace("namespace", "shop");
  });
  afterEach(async () => {
    try {
      for (const each of running) await each.stop();
      await eventually(() => api.connections === 0, "no connection of the source is left");
    } finally {
      await api.close();
      pod.remove();
    }
  });

  function run(names: readonly string[] = ["flags"], { context, ...options }: GivenOptions = {}): Running {
    const probe = new SourceProbe(new FastClock(5));
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(api.port),
    };
    const configs = parseSources({
      uris: names.map((name) => `core.openfeature.dev/shop/${name}`),
      sources: "",
    });
    const sources = createSources(configs, {
      ...probe.options,
      pod: { environment, serviceAccountDirectory: pod.path },
      ...options,
      context: { ...probe.options.context, ...context },
    });
    const abort = new AbortController();
    const ended = Promise.all(sources.map((source) => source.run(abort.signal)));
    const each: Running = {
      sources,
      probe,
      stop: async () => {
        abort.abort();
        await ended;
      },
    };
    running.push(each);
    return each;
  }

  it("delivers the FeatureFlag as the proxy would, and each edit of its spec", async () => {
    api.put("shop", "flags", { flagSpec: { flags: { f: flag(1) }, other: 1 } });
    const { probe, sources } = run();
    expect(await probe.nextDocument()).to.equal(text(1));
    expect(sources[0]?.status()).to.include({ state: "connected", uri: "shop/flags" });
    await eventually(
      () => probe.logs.some(({ msg }) => msg === "a FeatureFlag is served with warnings"),
      "warnings",
    );
    api.put("shop", "flags", spec(2));
    expect(await probe.nextDocument()).to.equal(text(2));
    api.put("shop", "flags", spec(2), { labels: { edited: "yes" } });
    api.put("shop", "others", spec(7));
    api.put("shop", "flags", spec(3));
    expect(await probe.nextDocument()).to.equal(text(3));
    expect(
      probe.logs.filter(({ msg }) => msg.startsWith("this agent watches the API server itself")),
    ).to.have.length(1);
  });

  it("watches two FeatureFlags over one connection", async () => {
    api.put("shop", "a", spec(1));
    api.put("shop", "b", spec(2));
    const { probe } = run(["a", "b"]);
    const documents = [await probe.nextDocument(), await probe.nextDocument()];
    expect(documents.sort()).to.deep.equal([text(1), text(2)]);
    expect(
      api
        .openWatches()
        .map(({ scope }) => scope)
        .sort(),
    ).to.deep.equal(["shop/a", "shop/b"]);
    expect(api.connections).to.equal(1);
  });

  it("counts relists, events and errors", async () => {
    api.put("shop", "flags", spec(1));
    const counts = new Map<string, number>();
    const count = (name: string) => (word: string) =>
      void counts.set(`${name} ${word}`, (counts.get(`${name} ${word}`) ?? 0) + 1);
    const metrics = {
      ...noSyncMetrics,
      watches: () => ({
        relisted: count("relist"),
        watchEvent: count("event"),
        watchFailed: count("error"),
      }),
    };
    const { probe } = run(["flags"], { context: { metrics } });
    await probe.nextDocument();
    expect(counts.get("relist start")).to.equal(1);
    api.put("shop", "flags", spec(2));
    await probe.nextDocument();
    expect(counts.get("event MODIFIED")).to.be.greaterThan(0);
    api.setAllowed(() => false);
    api.cut();
    await eventually(() => (counts.get("error forbidden") ?? 0) > 0, "the refusal is counted");
  });

  it("answers that there is none, and delivers it once it exists", async () => {
    const { probe, sources } = run();
    await eventually(() => probe.answersWithout.length > 0, "the answer");
    expect(sources[0]?.status().warning).to.contain("there is no FeatureFlag shop/flags");
    api.put("shop", "flags", spec(1));
    expect(await probe.nextDocument()).to.equal(text(1));
    expect(sources[0]?.status().warning).to.equal(undefined);
  });

  it("keeps the flags of a FeatureFlag that is deleted, and takes those of the next one", async () => {
    api.put("shop", "flags", spec(1));
    const { probe, sources } = run();
    await probe.nextDocument();
    api.delete("shop", "flags");
    await eventually(
      () =>
        sources[0]?.status().warning === "the FeatureFlag shop/flags was deleted; its flags are still served",
      "the deletion",
    );
    expect(probe.deliveries.size).to.equal(0);
    api.put("shop", "flags", spec(2));
    expect(await probe.nextDocument()).to.equal(text(2));
  });

  it("empties a deleted FeatureFlag after the grace where the policy says so", async () => {
    api.put("shop", "flags", spec(1));
    const { probe } = run(["flags"], { deletion: { policy: "empty", graceMs: 100 } });
    await probe.nextDocument();
    api.delete("shop", "flags");
    const delivery = await probe.deliveries.nextEvent("the empty document");
    expect([delivery.bytes.toString(), delivery.isDeletion]).to.deep.equal(['{"flags":{}}', true]);
  });

  it("takes no deletion for one that is created again at once, or whose resource type is deleted", async () => {
    api.put("shop", "flags", spec(1));
    const { probe, sources } = run(["flags"], {
      deletion: { policy: "empty", graceMs: 0 },
    });
    await probe.nextDocument();
    api.delete("shop", "flags");
    api.put("shop", "flags", spec(2));
    expect(await probe.nextDocument()).to.equal(text(2));
    await api.deleteCrd();
    await probe.failure("not_found");
    expect(sources[0]?.status().error).to.contain("install the CustomResourceDefinition");
    expect(probe.deliveries.size).to.equal(0);
    api.createCrd();
    api.put("shop", "flags", spec(3));
    expect(await probe.nextDocument()).to.equal(text(3));
  });

  it("names the permission that is missing, and works as soon as it is granted", async () => {
    api.put("shop", "flags", spec(1));
    api.setAllowed(() => false);
    const { probe, sources } = run();
    await probe.failure("forbidden");
    expect(sources[0]?.status().error).to.match(/get, list and watch featureflags in the namespace shop/);
    expect(probe.answersWithout).to.deep.equal([]);
    api.setAllowed(() => true);
    expect(await probe.nextDocument()).to.equal(text(1));
    expect(sources[0]?.status()).to.include({ state: "connected", error: undefined });
  });

  it("survives restarts of the API server, expired watches, errors and lost connections", async () => {
    api.put("shop", "flags", spec(1));
    // It waits after most of these strikes, for longer each time.
    const { probe } = run(["flags"], { context: { clock: new FastClock(50) } });
    await probe.nextDocument();
    const strikes: readonly (() => void | Promise<void>)[] = [
      () => api.restart(),
      () => api.cut(),
      () => api.watches().forEach((watch) => watch.error(watchExpired(1, 2))),
      () => api.watches().forEach((watch) => watch.error(internalError("no leader"))),
      () => api.watches().forEach((watch) => watch.end()),
      () => {
        api.fault({}, faults.answer(500, internalError("etcdserver: leader changed")), 2);
        api.cut();
      },
      () => api.goAway(),
    ];
    for (const [i, strike] of strikes.entries()) {
      await strike();
      api.put("shop", "flags", spec(i + 2));
      expect(await probe.nextDocument()).to.equal(text(i + 2));
    }
  });

  it("reports an outage that lasts, serves on meanwhile, and recovers", async () => {
    api.put("shop", "flags", spec(1));
    const { probe, sources } = run();
    await probe.nextDocument();
    await api.stop();
    await eventually(() => sources[0]?.status().state === "disconnected", "the outage");
    expect(probe.failures[0]).to.match(/connection_(refused|lost)/);
    await api.resume();
    await eventually(() => sources[0]?.status().state === "connected", "connected");
    expect(probe.deliveries.size).to.equal(0);
  });

  it("follows an etcd that was restored", async () => {
    api.put("shop", "flags", spec(1));
    const backup = api.backup();
    const { probe } = run();
    expect(await probe.nextDocument()).to.equal(text(1));
    for (const value of [2, 3, 4]) api.put("shop", "flags", spec(value));
    for (const value of [2, 3, 4]) expect(await probe.nextDocument()).to.equal(text(value));
    api.restoreEtcd(backup);
    expect(await probe.nextDocument()).to.equal(text(1));
    api.put("shop", "flags", spec(5));
    expect(await probe.nextDocument()).to.equal(text(5));
  });

  it("reads a renewed token after a 401", async () => {
    api.put("shop", "flags", spec(1));
    api.setTokens(["first"]);
    const { probe } = run();
    await probe.nextDocument();
    pod.replace("token", "second");
    api.setTokens(["second"]);
    api.cut();
    api.put("shop", "flags", spec(2));
    expect(await probe.nextDocument()).to.equal(text(2));
    expect(probe.failures).not.to.contain("unauthorized");
  });

  it("leaves it to the store to refuse one flag alone", async () => {
    api.put("shop", "flags", { flagSpec: { flags: { a: { state: 1 }, b: {} } } });
    const { probe } = run();
    expect(await probe.nextDocument()).to.equal('{"flags":{"a":{"state":1},"b":{"defaultVariant":""}}}');
  });

  it("keeps the last valid version of a FeatureFlag that becomes invalid", async () => {
    api.put("shop", "flags", spec(1));
    const { probe, sources } = run();
    await probe.nextDocument();
    api.put("shop", "flags", { flagSpec: { flags: "none" } });
    await eventually(() => sources[0]?.status().warning?.includes("is refused") === true, "the refusal");
    expect(sources[0]?.status().warning).to.match(
      /newest document is refused: the FeatureFlag shop\/flags: .*flags/,
    );
    api.put("shop", "flags", spec(2));
    expect(await probe.nextDocument()).to.equal(text(2));
    api.put("shop", "flags", {});
    expect(await probe.nextDocument()).to.equal('{"flags":{}}');
  });

  it("says what is missing outside of a Pod, and waits for the token", async () => {
    const outside = run(["flags"], { pod: { environment: {}, serviceAccountDirectory: "" } });
    await outside.probe.failure("config_invalid");
    expect(outside.sources[0]?.status().error).to.match(/works in a Pod only .* run bunting-proxy/);
    api.put("shop", "flags", spec(1));
    pod.replace("token", "");
    const { probe, sources } = run();
    await probe.failure("config_invalid");
    expect(sources[0]?.status().error).to.match(/token .* is empty/);
    pod.replace("token", "first");
    expect(await probe.nextDocument()).to.equal(text(1));
  });
});
