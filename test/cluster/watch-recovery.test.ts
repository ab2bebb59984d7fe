import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import { inParallel } from "./support/in-parallel.js";
import { flagSpec, ProxyUnderTest, type FlagStream } from "./support/proxy-under-test.js";
import type { ServiceAccount } from "./support/service-account.js";
import { restartableCluster } from "./support/use-cluster.js";

const outage = "FeatureFlags can't be watched; the last known versions are served";
const over = "all FeatureFlags are watched again";

/** Watches that end at once: several times as many as a proxy opens at a time. */
const manyWatches = scaled(1_000, 150);
/** How far back a backup is, in edits, for each scope. In the gate, each of both is tried with one of the scopes. */
const backups = scaled(
  [
    ["object", 2],
    ["object", 100],
    ["namespace", 2],
    ["namespace", 100],
  ] as const,
  [
    ["object", 100],
    ["namespace", 2],
  ] as const,
);

describe("the proxy's watches, when the API server", function () {
  this.timeout(180_000);
  const cluster = restartableCluster();
  let account: ServiceAccount;
  let namespace: string;
  /** The proxies of a test, each with a subscriber. */
  let started: { readonly proxy: ProxyUnderTest; readonly stream: FlagStream }[];
  /** The last of them. */
  let proxy: ProxyUnderTest;
  let stream: FlagStream;
  beforeEach(async () => {
    started = [];
    namespace = await cluster().createNamespace();
    account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
  });
  afterEach(async () => {
    for (const each of started) await each.proxy.stop();
  });

  async function start(...args: readonly string[]): Promise<void> {
    proxy = await ProxyUnderTest.start(account, args);
    stream = proxy.subscribe(namespace, "checkout");
    started.push({ proxy, stream });
    expect(await stream.next()).to.equal(1);
  }

  async function relists(reason: string): Promise<number> {
    return proxy.metric(`bunting_proxy_source_relists_total{reason="${reason}"}`);
  }

  it("is killed and started again, continue, and have lost nothing, be they of objects, namespaces or the cluster", async () => {
    for (const scope of ["object", "namespace", "cluster"]) await start("--watch-scope", scope);
    await cluster().kill("kube-apiserver");
    for (const { proxy } of started) expect(await proxy.subscribe(namespace, "checkout").next()).to.equal(1);
    await cluster().startApiServer();
    await cluster().untilServed();
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    for (const { stream } of started) {
      await stream.until(2);
      expect(stream.seen).to.deep.equal([1, 2]);
    }
  });

  it("closes them, open again, and report nothing twice", async () => {
    await start("--watch-timeout", "1s");
    await eventually(async () => (await relists("closed")) >= 3, "three watches have ended");
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    expect(await stream.next()).to.equal(2);
    expect(await relists("failed")).to.equal(0);
  });

  it("closes a namespace watch, resume it without reading everything again", async () => {
    await start("--watch-timeout", "1s", "--watch-scope", "namespace");
    const reads = (): number =>
      cluster()
        .requests(account)
        .filter(({ uri }) => uri.includes("sendInitialEvents=true")).length;
    const watches = (): number =>
      cluster()
        .requests(account)
        .filter(({ verb }) => verb === "watch").length;
    await eventually(() => watches() >= 4, "three watches have ended");
    expect(reads()).to.equal(1);
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    expect(await stream.next()).to.equal(2);
  });

  it("revokes their permission, keep what they have, log that once, and continue when it is granted again", async () => {
    await start("--watch-timeout", "1s");
    await cluster().deleteStockRole(account);
    const line = await proxy.process.nextLog(outage, 60_000);
    expect(line).to.include({ level: "warn", code: "FORBIDDEN" });
    expect(line["reason"]).to.contain("get, list and watch featureflags");
    expect(await proxy.subscribe(namespace, "checkout").next()).to.equal(1);
    expect(await proxy.metric('bunting_proxy_source_errors_total{kind="forbidden"}')).to.be.greaterThan(0);
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    await cluster().grantStockRole(account);
    await stream.until(2);
    await proxy.process.nextLog(over, 60_000);
    expect(proxy.process.logs.filter(({ msg }) => msg === outage)).to.have.length(1);
  });

  it("does not accept their token any more, continue with the next one", async () => {
    await start("--watch-timeout", "1s");
    await account.delete();
    const line = await proxy.process.nextLog(outage, 60_000);
    expect(line).to.include({ code: "UNAUTHORIZED" });
    await account.create();
    await account.rotate();
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    await stream.until(2);
    await proxy.process.nextLog(over, 60_000);
  });

  it("has lost everything, its count of versions included, take what is new, be they of objects or namespaces", async () => {
    const empties = ["--deletion-grace", "0s", "--deletion-policy", "empty"];
    for (const scope of ["object", "namespace"]) await start(...empties, "--watch-scope", scope);
    await cluster().putFeatureFlag(namespace, "lost", flagSpec(7));
    const losing = started.map((each) => each.proxy.subscribe(namespace, "lost"));
    for (const lost of losing) expect(await lost.next()).to.equal(7);
    await cluster().wipeEtcd();
    await cluster().createNamespace(namespace);
    await account.create();
    await account.rotate();
    await cluster().grantStockRole(account);
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    for (const each of started) await each.stream.until(2);
    for (const lost of losing) await lost.until("empty");
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(3));
    for (const each of started) await each.stream.until(3);
  });

  // An API server writes some objects of its own when it starts: after few edits its version is past the last of them before the first read.
  for (const [scope, edits] of backups) {
    it(`is set back to a backup ${edits} edits ago, go back with it and continue from there (--watch-scope=${scope})`, async () => {
      await start("--watch-scope", scope);
      const backup = await cluster().saveEtcd();
      for (let version = 2; version <= edits + 1; version++) {
        await cluster().putFeatureFlag(namespace, "checkout", flagSpec(version));
      }
      await stream.until(edits + 1);
      await cluster().restoreEtcd(backup);
      await cluster().untilServed();
      await stream.until(1);
      await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1_000));
      await stream.until(1_000);
    });
  }

  it(`ends ${manyWatches} of them at once, all open again without a storm`, async () => {
    const names = Array.from({ length: manyWatches }, (_, index) => `flag-${index}`);
    await inParallel(names, (name) => cluster().putFeatureFlag(namespace, name, flagSpec(1)));
    await start("--watch-scope", "object");
    const streams = names.map((name) => proxy.subscribe(namespace, name));
    for (const each of streams) expect(await each.next(60_000)).to.equal(1);
    expect(cluster().openWatches(account)).to.have.length(manyWatches + 1);
    const before = cluster().requests(account).length;
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/featureflags.core.openfeature.dev";
    await cluster().kubectl([
      "patch",
      "crd",
      path.slice(path.lastIndexOf("/") + 1),
      "--type=json",
      '-p=[{"op":"add","path":"/spec/versions/0/additionalPrinterColumns/-","value":{"name":"Later","type":"string","jsonPath":".metadata.uid"}}]',
    ]);
    const again = (): number => cluster().requests(account).length - before;
    await eventually(() => again() > manyWatches, "all watches were opened again", 60_000);
    const areOpen = (): boolean => cluster().openWatches(account).length === manyWatches + 1;
    await eventually(areOpen, "as many watches", 60_000);
    await inParallel(names, (name) => cluster().putFeatureFlag(namespace, name, flagSpec(2)));
    for (const each of streams) await each.until(2);
    expect(again()).to.be.lessThan(2.5 * manyWatches);
  });
});

describe("the proxy's watches on an API server without WatchList", function () {
  this.timeout(120_000);
  const cluster = restartableCluster({ apiServerFlags: ["--feature-gates=WatchList=false"] });

  for (const scope of ["object", "namespace", "cluster"]) {
    it(`list, then watch (--watch-scope=${scope})`, async () => {
      const namespace = await cluster().createNamespace();
      const account = await cluster().createServiceAccountToken(namespace, "proxy");
      await cluster().grantStockRole(account);
      await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
      const proxy = await ProxyUnderTest.start(account, ["--watch-scope", scope]);
      try {
        const stream = proxy.subscribe(namespace, "checkout");
        const later = proxy.subscribe(namespace, "later");
        expect(await stream.next()).to.equal(1);
        await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
        expect(await stream.next()).to.equal(2);
        await cluster().putFeatureFlag(namespace, "later", flagSpec(3));
        expect(await later.next()).to.equal(3);
        const asked = cluster()
          .requests(account)
          .filter(({ uri }) => uri.includes("sendInitialEvents"));
        expect(asked.length).to.be.lessThan(4);
      } finally {
        await proxy.stop();
      }
    });
  }
});

describe("the proxy's watches on an API server that forgets its history", function () {
  this.timeout(120_000);
  const cluster = restartableCluster({ apiServerFlags: ["--watch-cache=false"] });

  it("read again when they are too late to resume", async () => {
    const namespace = await cluster().createNamespace();
    const account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
    const proxy = await ProxyUnderTest.start(account, [
      "--watch-scope",
      "namespace",
      "--watch-timeout",
      "2s",
    ]);
    try {
      const stream = proxy.subscribe(namespace, "checkout");
      expect(await stream.next()).to.equal(1);
      const expired = 'bunting_proxy_source_relists_total{reason="expired"}';
      await eventually(
        async () => {
          // In another namespace, so that the watch stays where it was.
          for (let count = 0; count < 3; count++) await cluster().createNamespace();
          await cluster().compact();
          return (await proxy.metric(expired)) > 0;
        },
        "a watch was too late",
        60_000,
      );
      await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
      await stream.until(2);
      expect(proxy.process.logs.filter(({ msg }) => msg === outage)).to.have.length(0);
    } finally {
      await proxy.stop();
    }
  });
});
