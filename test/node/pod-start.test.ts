import { expect } from "chai";
import { readFileSync } from "node:fs";
import path from "node:path";
import { registryName } from "./support/addresses.js";
import { installedProxy, proxyAddress } from "./support/proxy.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload, type WorkloadPod } from "./support/workload.js";

const fixtures = path.join(import.meta.dirname, "../fixtures/stock-operator");
const operatorNamespace = "open-feature-operator-system";
const stockAccount = "open-feature-operator-flagd-proxy";

describe("the start of a Pod", () => {
  const node = sharedNode();
  installedProxy(node);
  let namespace: string;

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(1));
  });

  it("needs no proxy: the application starts without one, and the Pod is ready once the proxy of the stock operator is there", async () => {
    const workload = await Workload.create(node(), {
      namespace,
      name: "early",
      proxy: `flagd-proxy-svc.${operatorNamespace}.svc.cluster.local:8015`,
      flags: `${namespace}/flags`,
    });
    await workload.untilRunning();
    expect((await workload.ask("ofrep", versionFlag)).errorCode).to.equal("GENERAL");
    expect((await workload.sidecar()).ready).to.equal(false);
    await createStockProxy();
    await workload.untilAnswers(versionFlag, 1);
    await workload.untilReady();
    await editVersion(node().cluster, namespace, "flags", 2);
    await workload.untilAnswers(versionFlag, 2);
    expect((await workload.sidecar()).restartCount).to.equal(0);
    await workload.delete();
    await node().kubectl(["-n", operatorNamespace, "delete", "deployment", "flagd-proxy"]);
  });

  it("is the same with a unix socket, on a volume that both containers mount, in place of the port", async () => {
    const socket = "/sockets/flagd.sock";
    const volume = { name: "sockets", mountPath: path.dirname(socket) };
    const edit = ({ spec }: WorkloadPod): void => {
      const [sidecar] = spec.initContainers;
      const [application] = spec.containers;
      sidecar.args?.push("--socket-path", socket);
      application.env.push({ name: "FLAGD_SOCKET_PATH", value: socket });
      for (const container of [sidecar, application]) container.volumeMounts = [volume];
      spec.volumes = [{ name: volume.name, emptyDir: {} }];
    };
    const options = { namespace, name: "socket", proxy: proxyAddress, flags: `${namespace}/flags`, edit };
    const workload = await Workload.start(node(), options);
    await editVersion(node().cluster, namespace, "flags", 3);
    await workload.untilAnswers(versionFlag, 3);
    expect((await workload.reach("http://localhost:8013")).errorCode, "the port").to.be.a("string");
    await workload.delete();
  });

  /** The Deployment and the Service that the stock operator makes, with our image, and the ServiceAccount with its role. */
  async function createStockProxy(): Promise<void> {
    const deployment = stockObject("proxy-deployment.json");
    const service = stockObject("proxy-service.json");
    // The addresses are those of the cluster that it was taken from.
    delete service.spec["clusterIP"];
    delete service.spec["clusterIPs"];
    await node().cluster.createNamespace(operatorNamespace);
    const account = { name: stockAccount, namespace: operatorNamespace };
    await node().cluster.grantStockRole(account);
    await node().apply(
      {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: stockAccount, namespace: operatorNamespace },
      },
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "flagd-proxy-svc", namespace: operatorNamespace, labels: service.labels },
        spec: service.spec,
      },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "flagd-proxy", namespace: operatorNamespace, labels: deployment.labels },
        spec: deployment.spec,
      },
    );
  }
});

interface StockObject {
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: Record<string, unknown>;
}

/** What the stock operator made, with our image. */
function stockObject(name: string): StockObject {
  const text = readFileSync(path.join(fixtures, name), "utf8");
  return JSON.parse(text.replace(/ghcr\.io\/[^"]*/, `${registryName}/proxy:1`)) as StockObject;
}
