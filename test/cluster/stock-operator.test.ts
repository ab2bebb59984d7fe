import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { binaries, ServiceProcess } from "../support/service-process.js";
import { holdStockPorts } from "../support/stock-ports.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { FlagStream, flagSpec } from "./support/proxy-under-test.js";
import { sharedCluster } from "./support/use-cluster.js";

interface Deployment {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
}

interface Container {
  readonly args: readonly string[];
  readonly env?: unknown;
}

const fixture = path.join(import.meta.dirname, "../fixtures/stock-operator/proxy-deployment.json");

describe("our proxy in the place of the stock operator's", function () {
  this.timeout(60_000);
  holdStockPorts();
  const cluster = sharedCluster();

  it("serves the cluster with that operator's arguments, environment and role, on its ports", async () => {
    const [container] = (JSON.parse(readFileSync(fixture, "utf8")) as Deployment).spec.template.spec
      .containers;
    expect(container?.env).to.equal(undefined);
    const namespace = await cluster().createNamespace();
    const account = await cluster().createServiceAccountToken(namespace, "open-feature-operator-flagd-proxy");
    await cluster().grantStockRole(account);
    const proxy = new ServiceProcess(binaries.proxy, {
      args: container?.args ?? [],
      // Added by the kubelet, which also mounts the token at a path that tests can't write.
      env: { ...account.environment, BUNTING_SERVICE_ACCOUNT_DIRECTORY: account.directory },
    });
    const client = new StockSyncClient("127.0.0.1:8015");
    try {
      await proxy.nextLog("watching FeatureFlags in the cluster");
      const [field, legacy] = [false, true].map(
        (isLegacy) =>
          new FlagStream(
            client.subscribe({ selector: `core.openfeature.dev/${namespace}/checkout`, legacy: isLegacy }),
            client,
          ),
      );
      await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
      expect(await field?.next()).to.equal(1);
      expect(await legacy?.next()).to.equal(1);
      await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
      expect(await field?.next()).to.equal(2);
      expect((await fetch("http://127.0.0.1:8016/readyz")).status).to.equal(200);
      const asked = new Set(
        cluster()
          .requests(account)
          .map(({ status }) => status),
      );
      expect(
        [...asked].filter((status) => status === 403),
        "what the role does not allow",
      ).to.deep.equal([]);
    } finally {
      client.close();
      await proxy.stop("SIGKILL");
    }
  });
});
