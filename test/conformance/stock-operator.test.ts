import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { isReady } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest, versionOf } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import { agentImage, binaries, ServiceProcess } from "../support/service-process.js";
import { holdStockPorts } from "../support/stock-ports.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

interface Container {
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly containerPort: number }[];
  readonly livenessProbe?: { readonly httpGet: { readonly path: string; readonly port: number } };
  readonly readinessProbe?: { readonly httpGet: { readonly path: string; readonly port: number } };
  readonly securityContext?: { readonly runAsUser: number; readonly runAsGroup: number };
}

const fixtures = path.join(import.meta.dirname, "../fixtures/stock-operator");

function read(file: string): unknown {
  return JSON.parse(readFileSync(path.join(fixtures, file), "utf8"));
}

/** What the stock open-feature-operator created on a real cluster: our binaries are started with exactly that. */
const deployment = read("proxy-deployment.json") as {
  spec: { template: { spec: { containers: Container[] } } };
};
const pod = read("workload-pod.json") as { initContainers: Container[] };
const [proxyContainer] = deployment.spec.template.spec.containers;
const [sidecar] = pod.initContainers;
if (proxyContainer === undefined || sidecar === undefined) throw new Error("the fixtures hold no container");

/** As the container's user, if the tests run as root, and with only the container's environment. */
function containerOf(container: Container): { readonly env: Record<string, string>; readonly user: object } {
  const env = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]));
  const { runAsUser: uid, runAsGroup: gid } = container.securityContext ?? {};
  return { env, user: process.getuid?.() === 0 && uid !== undefined ? { uid, gid } : {} };
}

describe("the command lines of the stock operator", () => {
  holdStockPorts();
  let directory: TempDirectory;
  const running: ServiceProcess[] = [];

  beforeEach(() => (directory = new TempDirectory()));
  afterEach(async () => {
    for (const one of running.splice(0)) await one.stop("SIGKILL");
    directory.remove();
  });

  it("start our proxy on the ports of its Deployment and Service", async () => {
    directory.replace("end-to-end.yaml", manifest("end-to-end", 1, "demo"));
    const proxy = new ServiceProcess(binaries.proxy, {
      args: proxyContainer.args,
      // A directory stands in for the API of a cluster.
      env: { ...containerOf(proxyContainer).env, BUNTING_SOURCE: `dir:${directory.path}` },
    });
    running.push(proxy);
    const listening = [await proxy.nextLog("listening"), await proxy.nextLog("listening")];
    expect(listening.map(({ port }) => port)).to.have.members(
      proxyContainer.ports.map(({ containerPort }) => containerPort),
    );
    const client = new StockSyncClient("127.0.0.1:8015");
    const { messages } = client.subscribe({ selector: "core.openfeature.dev/demo/end-to-end" });
    expect(versionOf((await messages.nextEvent()).text)).to.equal(1);
    client.close();
    await eventually(() => isReady("http://127.0.0.1:8016"), "/readyz");
    expect(proxy.logs.filter(({ level }) => level === "warn")).to.deep.equal([]);
  });

  it("start our agent as the sidecar, which receives its flags from the proxy and passes the operator's own end-to-end check", async () => {
    directory.replace("end-to-end.yaml", manifest("end-to-end", 1, "demo"));
    const proxy = await startProxy(directory.path);
    running.push(proxy.process);
    const service = "flagd-proxy-svc.open-feature-operator-system.svc.cluster.local:8015";
    const args = sidecar.args.map((arg) => arg.replace(service, proxy.sync));
    expect(args, "the fixture names the proxy's Service").to.not.deep.equal(sidecar.args);
    const { env, user } = containerOf(sidecar);
    const agent = new ServiceProcess(binaries.agent, { args, env, image: agentImage, ...user });
    running.push(agent);
    const { readinessProbe, livenessProbe } = sidecar;
    const probe = ({ path: at, port }: { path: string; port: number }): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}${at}`).then(
        ({ ok }) => ok,
        () => false,
      );
    for (const { httpGet } of [livenessProbe, readinessProbe].flatMap((one) => one ?? [])) {
      await eventually(() => probe(httpGet), httpGet.path);
    }
    const answer = await fetch("http://127.0.0.1:8013/schema.v1.Service/ResolveBoolean", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"flagKey":"on-off","context":{}}',
    });
    expect((await answer.text()).replaceAll(/\s/g, "")).to.contain(
      '"value":true,"reason":"STATIC","variant":"on"',
    );
    expect(agent.logs.filter(({ level }) => level === "warn" || level === "error")).to.deep.equal([]);
  });

  it("keep our agent alive, and not ready, while the proxy can't be found (S-2, S-3)", async () => {
    const { env, user } = containerOf(sidecar);
    const agent = new ServiceProcess(binaries.agent, {
      args: sidecar.args,
      env,
      image: agentImage,
      ...user,
    });
    running.push(agent);
    await agent.nextLog("the source is unreachable; retrying");
    expect((await fetch("http://127.0.0.1:8014/healthz")).status).to.equal(200);
    const ready = await fetch("http://127.0.0.1:8014/readyz");
    expect([ready.status, await ready.text()].join(" ")).to.match(
      /^412 waiting for the first flags of flagd-proxy-svc/,
    );
    expect(await agent.stop()).to.equal(0);
  });

  it("start our agent with arguments that the operator passes and flagd refuses", async () => {
    const extra = [
      "--sync-provider-args",
      "key=value",
      "--metrics-exporter",
      "otel",
      "--otel-collector-uri",
      "collector:4317",
    ];
    const agent = new ServiceProcess(binaries.agent, {
      args: [
        ...sidecar.args.slice(0, -2),
        ...extra,
        "--context-value",
        "a=b",
        "--context-from-header",
        "X-User=user",
        "--cors-origin",
        "*",
      ],
      env: { ...containerOf(sidecar).env, FLAGD_PORT: "tcp://10.0.0.1:80", FLAGD_OFREP_PORT: "0" },
      image: agentImage,
    });
    running.push(agent);
    await agent.nextLog("--sync-provider-args is accepted and ignored: flagd has dropped it in 0.8");
    await agent.nextLog("listening");
    await agent.nextLog("telemetry could not be sent to the collector, and was dropped");
    expect(await agent.stop()).to.equal(0);
  });
});
