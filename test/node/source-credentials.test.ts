import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { skipWithout } from "../helm/support/tool.js";
import { addresses } from "./support/addresses.js";
import { installOperator, uninstallOperator } from "./support/operator.js";
import { sharedNode } from "./support/use-node.js";
import { versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload } from "./support/workload.js";

describe("the credentials of a source on a real node", function () {
  this.timeout(300_000);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  let namespace: string;

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await installOperator(node());
  });
  after(async () => {
    await uninstallOperator(node());
  });

  it("come from a Secret, which may come after the Pod, and go to the servers that it names", async () => {
    const seen = new Set<string | undefined>();
    const server = createServer(({ headers: { authorization } }, response) => {
      seen.add(authorization);
      const isAllowed = authorization === "Bearer t-1";
      response.writeHead(isAllowed ? 200 : 401, { "content-type": "application/json" });
      response.end(isAllowed ? JSON.stringify(versionSpec(7)) : "{}");
    });
    server.listen(0, addresses.node);
    await once(server, "listening");
    try {
      const origin = `http://${addresses.node}:${(server.address() as AddressInfo).port}`;
      await createSource(origin);
      const workload = await Workload.createBare(node(), { namespace, name: "remote", source: "remote" });
      await workload.untilReady();
      expect(seen.size).to.equal(0);
      await putSecret({ token: "t-1", hosts: "flags.example.com" });
      await putSecret({ token: "t-1", hosts: `flags.example.com ${origin}` });
      // The kubelet brings a Secret to a running Pod within a minute or so.
      await workload.untilAnswers(versionFlag, 7, 180_000);
      expect([...seen]).to.deep.equal(["Bearer t-1"]);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  async function createSource(source: string): Promise<void> {
    const credentialsSecretRef = { name: "flags-api" };
    const path = `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources`;
    await node().cluster.api.create(path, {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { name: "remote", namespace },
      spec: { sources: [{ source, provider: "http", interval: 1, credentialsSecretRef }] },
    });
    await node().kubectl([
      ...["-n", namespace, "wait", "featureflagsource/remote", "--for=condition=Compiled", "--timeout=60s"],
    ]);
  }

  function putSecret(stringData: object): Promise<unknown> {
    const metadata = { name: "flags-api", namespace };
    return node().apply({ apiVersion: "v1", kind: "Secret", metadata, stringData });
  }
});
