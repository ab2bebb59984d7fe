import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { featureFlagPath } from "./support/cluster.js";
import { flagSpec, ProxyUnderTest } from "./support/proxy-under-test.js";
import type { ServiceAccount } from "./support/service-account.js";
import { freshCluster } from "./support/use-cluster.js";

describe("the life of a FeatureFlag in a cluster", function () {
  this.timeout(120_000);
  const cluster = freshCluster({ controllerManager: true });
  let account: ServiceAccount;
  let namespace: string;
  let proxy: ProxyUnderTest;
  beforeEach(async () => {
    namespace = await cluster().createNamespace();
    account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
  });
  afterEach(() => proxy.stop());

  async function start(...args: readonly string[]): Promise<void> {
    proxy = await ProxyUnderTest.start(account, args);
  }

  it("is followed from before it exists through edits, deletion and re-creation", async () => {
    await start("--deletion-grace", "0s", "--deletion-policy", "empty");
    const stream = proxy.subscribe(namespace, "checkout");
    await proxy.process.nextLog("the FeatureFlag does not exist; its subscribers are held until it does");
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
    expect(await stream.next()).to.equal(1);
    for (let version = 2; version <= 5; version++) {
      await cluster().putFeatureFlag(namespace, "checkout", flagSpec(version));
      expect(await stream.next()).to.equal(version);
    }
    await cluster().deleteFeatureFlag(namespace, "checkout");
    expect(await stream.next()).to.equal("empty");
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(6));
    expect(await stream.next()).to.equal(6);
  });

  it("that is deleted and created again at once is not a deletion", async () => {
    await start("--deletion-grace", "0s", "--deletion-policy", "close");
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
    const stream = proxy.subscribe(namespace, "checkout");
    expect(await stream.next()).to.equal(1);
    await cluster().putFeatureFlag(namespace, "other", flagSpec(1));
    const other = proxy.subscribe(namespace, "other");
    expect(await other.next()).to.equal(1);
    await cluster().deleteFeatureFlag(namespace, "checkout");
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    expect(await stream.next()).to.equal(2);
    // A deletion is confirmed some seconds later: once this one is, the first would be.
    await cluster().deleteFeatureFlag(namespace, "other");
    expect(await other.subscription.ended).to.have.property("code", 5);
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(3));
    expect(await stream.next()).to.equal(3);
  });

  it("without flagSpec is a document without flags", async () => {
    await start();
    await cluster().putFeatureFlag(namespace, "checkout", undefined);
    expect(await proxy.subscribe(namespace, "checkout").next()).to.equal("empty");
  });

  it("sends nothing where only its metadata is edited", async () => {
    await start();
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
    const stream = proxy.subscribe(namespace, "checkout");
    expect(await stream.next()).to.equal(1);
    for (let edit = 0; edit < 5; edit++) {
      await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1), { labels: { edit: String(edit) } });
    }
    const event = 'bunting_proxy_source_watch_events_total{type="MODIFIED"}';
    await eventually(async () => (await proxy.metric(event)) === 5, "five events");
    expect(await proxy.metric("bunting_proxy_snapshot_published_total")).to.equal(1);
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    expect(await stream.next()).to.equal(2);
  });

  it("measures how long an edit took to arrive if its author annotated when it was made", async () => {
    await start();
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
    const stream = proxy.subscribe(namespace, "checkout");
    await stream.next();
    const writtenMs = Date.now();
    const annotations = { "bunting.dev/written-at": String(writtenMs) };
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2), { annotations });
    expect(await stream.next()).to.equal(2);
    expect(await proxy.metric("bunting_proxy_source_written_to_event_seconds_count")).to.equal(1);
    const seconds = await proxy.metric("bunting_proxy_source_written_to_event_seconds_sum");
    expect(seconds).to.be.within(0, (Date.now() - writtenMs) / 1_000);
  });

  it("ends with its namespace", async () => {
    await start("--deletion-grace", "0s", "--deletion-policy", "empty");
    const other = await cluster().createNamespace();
    await cluster().putFeatureFlag(other, "checkout", flagSpec(1));
    const stream = proxy.subscribe(other, "checkout");
    expect(await stream.next()).to.equal(1);
    await cluster().api.delete(`/api/v1/namespaces/${other}`);
    expect(await stream.next(60_000)).to.equal("empty");
  });

  for (const policy of ["empty", "close"]) {
    it(`goes on while its resource type is deleted, also with --deletion-policy=${policy}, until a read confirms that it is gone`, async () => {
      await start("--deletion-grace", "0s", "--deletion-policy", policy);
      await cluster().putFeatureFlag(namespace, "kept", flagSpec(1));
      await cluster().putFeatureFlag(namespace, "lost", flagSpec(1));
      const [kept, lost] = [proxy.subscribe(namespace, "kept"), proxy.subscribe(namespace, "lost")];
      await kept.next();
      await lost.next();
      await cluster().deleteCrd();
      const line = await proxy.process.nextLog(
        "FeatureFlags can't be watched; the last known versions are served",
      );
      expect(line["reason"]).to.contain("install the CustomResourceDefinition");
      expect(await proxy.subscribe(namespace, "kept").next()).to.equal(1);
      const { length: requests } = cluster().requests(account);
      await eventually(() => cluster().requests(account).length >= requests + 1, "another try");
      await kept.fence();
      await cluster().installCrds();
      await cluster().putFeatureFlag(namespace, "kept", flagSpec(2));
      expect(await kept.next(60_000)).to.equal(2);
      if (policy === "empty") expect(await lost.next(60_000)).to.equal("empty");
      else expect(await lost.subscription.ended).to.have.property("code", 5);
    });
  }

  it("can have any name and namespace that Kubernetes accepts, and no other selector reaches the API server", async () => {
    await start();
    const name = `a.${"b".repeat(60)}.c-9`;
    await cluster().putFeatureFlag(namespace, name, flagSpec(1));
    expect(await proxy.subscribe(namespace, name).next()).to.equal(1);
    for (const bad of ["a,metadata.namespace=kube-system", "A", "a/b", "..", "%2e"]) {
      expect(await proxy.subscribe(namespace, bad).subscription.ended, bad).to.have.property("code", 3);
    }
    const watched = cluster()
      .openWatches(account)
      .map(({ uri }) => uri);
    expect(watched).to.have.length(1);
    expect(watched[0])
      .to.contain(featureFlagPath(namespace))
      .and.contain(encodeURIComponent(`metadata.name=${name}`));
  });
});
