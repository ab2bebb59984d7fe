import { expect } from "chai";
import { inParallel } from "./support/in-parallel.js";
import { flagSpec, ProxyUnderTest } from "./support/proxy-under-test.js";
import { rssBytes } from "./support/rss-bytes.js";
import { freshCluster } from "./support/use-cluster.js";

const documents = 200;
const documentBytes = 10_000;
/** Up to 16 MB were seen. */
const maxGrowthMb = 48;
/** FeatureFlags that are subscribed to before memory is measured. */
const warmUp = 50;

describe("200 FeatureFlags of 10 KB in a namespace, all subscribed to", function () {
  this.timeout(120_000);
  const cluster = freshCluster();

  // flagd-proxy: 50 of them took 50 namespace watches, 3.95 GB of its own and 1.9 GB of the API server's memory.
  it("cost the proxy and the API server at most 48 MB each", async () => {
    const namespace = await cluster().createNamespace();
    const account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    const named = (prefix: string, length: number): string[] =>
      Array.from({ length }, (_, index) => `${prefix}-${index}`);
    const [first, names] = [named("first", warmUp), named("flag", documents)];
    const padding = "x".repeat(documentBytes);
    await inParallel([...first, ...names], (name) =>
      cluster().putFeatureFlag(namespace, name, flagSpec(1, padding)),
    );
    const proxy = await ProxyUnderTest.start(account);
    try {
      // Code is loaded, compiled and has filled V8's first heap before memory is measured: that costs the same whatever comes after.
      for (const name of first) expect(await proxy.subscribe(namespace, name).next()).to.equal(1);
      const rssMb = (): { proxy: number; apiServer: number } => ({
        proxy: rssBytes(proxy.process.pid) / 1e6,
        apiServer: cluster().rssBytes() / 1e6,
      });
      const before = rssMb();
      const streams = names.map((name) => proxy.subscribe(namespace, name));
      for (const stream of streams) expect(await stream.next()).to.equal(1);
      const after = rssMb();
      expect(after.proxy - before.proxy, "of the proxy").to.be.below(maxGrowthMb);
      expect(after.apiServer - before.apiServer, "of the API server").to.be.below(maxGrowthMb);
    } finally {
      await proxy.stop();
    }
  });
});
