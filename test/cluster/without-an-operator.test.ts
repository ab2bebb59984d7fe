import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { runBunting } from "../support/cli-process.js";
import { agentImage, binaries, ServiceProcess, type LogLine } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { eventually } from "../support/event-queue.js";
import { ProxyUnderTest } from "./support/proxy-under-test.js";
import { freshCluster } from "./support/use-cluster.js";

interface Deployment {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly initContainers: readonly [
    {
      readonly args: readonly string[];
      readonly startupProbe: { readonly httpGet: { readonly path: string; readonly port: number } };
      readonly restartPolicy: string;
    },
  ];
}

const root = path.resolve(import.meta.dirname, "../..");
const proxyInManifest = "bunting-proxy.bunting-system.svc.cluster.local:8015";

describe("the workload of docs/start/without-operator.md", function () {
  this.timeout(120_000);
  const cluster = freshCluster();
  let directory: TempDirectory;
  const cleanUps: (() => unknown)[] = [];
  before(async () => {
    directory = new TempDirectory();
    // As strict as a namespace can be: the manifest says that it fits.
    const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
    await cluster().api.create("/api/v1/namespaces", { metadata: { name: "shop", labels } });
  });
  after(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    directory.remove();
  });

  it("is applied as the page prints it, without a warning", async () => {
    const page = readFileSync(path.join(root, "docs/start/without-operator.md"), "utf8");
    const [, file = ""] = /^kubectl -n shop apply -f (\S+)$/m.exec(page) ?? [];
    const apply = ["-n", "shop", "apply", "--validate=strict", "-f", path.join(root, file)];
    const { code, stdout, stderr } = await cluster().tryKubectl(apply);
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(stdout.trim().split("\n")).to.have.length(2);
  });

  it("has a sidecar that the Pod Security Standard admits", async () => {
    const { template } = (await stored()).spec;
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "one", namespace: "shop" }, ...template };
    const { code, stderr } = await cluster().tryKubectl(
      ["create", "--dry-run=server", "-f", "-"],
      JSON.stringify({ ...pod, metadata: { name: "one", namespace: "shop" } }),
    );
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(template.spec.initContainers[0].restartPolicy).to.equal("Always");
  });

  it("gets the flag by an agent with these arguments, whose startup probe succeeds then", async () => {
    const account = await cluster().createServiceAccountToken("shop", "proxy");
    await cluster().grantStockRole(account);
    const proxy = await ProxyUnderTest.start(account);
    cleanUps.push(() => proxy.stop());
    const [{ args, startupProbe }] = (await stored()).spec.template.spec.initContainers;
    expect(args.join(" ")).to.contain(proxyInManifest);
    const here = args.map((each) =>
      each.replace(proxyInManifest, proxy.sync).replace("/var/cache/bunting", directory.path),
    );
    const ports = ["--port=0", "--sync-port=0", "--ofrep-port=0", "--management-port=0", "--host=127.0.0.1"];
    const agent = new ServiceProcess(binaries.agent, { args: [...here, ...ports], image: agentImage });
    cleanUps.push(() => agent.stop("SIGKILL"));
    const portOf = async (service: string): Promise<number> => {
      const line = (): LogLine | undefined =>
        agent.logs.find((each) => each.msg === "listening" && each["service"] === service);
      await eventually(() => line() !== undefined, `the port of ${service}`);
      return line()?.["port"] as number;
    };
    const [ofrep, management] = [await portOf("ofrep"), await portOf("management")];
    const probe = `http://127.0.0.1:${management}${startupProbe.httpGet.path}`;
    await eventually(async () => (await fetch(probe)).status === 200, "the startup probe succeeds");
    const answer = await fetch(`http://127.0.0.1:${ofrep}/ofrep/v1/evaluate/flags/one-click`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ context: { targetingKey: "a" } }),
    });
    expect(await answer.json()).to.include({ value: true, variant: "on" });
    expect(startupProbe.httpGet.port).to.equal(8014);
  });

  it("is explained by bunting as what it is, with the FeatureFlag that its agent reads", async () => {
    const { code, out } = await runBunting([
      ...["operator", "explain", "deployment", "shop/checkout"],
      ...["--kubeconfig", cluster().kubeconfig],
    ]);
    expect(out).to.match(/^shop\/\S+ has an agent that is written by hand\n/);
    expect(out).to.contain("  FeatureFlag shop/checkout: unjudged\n");
    expect(code).to.equal(0);
  });

  async function stored(): Promise<Deployment> {
    const text = await cluster().kubectl(["-n", "shop", "get", "deployment", "checkout", "-o", "json"]);
    return JSON.parse(text) as Deployment;
  }
});
