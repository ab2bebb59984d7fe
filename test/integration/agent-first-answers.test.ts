import { expect } from "chai";
import { isReady, proxySources } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { manifest } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import { scaled } from "../support/scale.js";
import { agentImage, binaries, ServiceProcess } from "../support/service-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
const ports = ["port", "management-port", "sync-port", "ofrep-port"] as const;
type Ports = Readonly<Record<(typeof ports)[number], number>>;

/** The first answer of a port that may not be open yet. */
async function firstAnswer(url: string, body: object): Promise<{ status: number; body: unknown }> {
  const headers = { "content-type": "application/json", connection: "close" };
  for (;;) {
    let response: Response;
    try {
      response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    } catch {
      continue;
    }
    return { status: response.status, body: await response.json() };
  }
}

/** What the first applications are answered after the start of an agent. */
describe("the first answers of an agent", () => {
  const directory = new TempDirectory();
  const running: ServiceProcess[] = [];
  after(() => directory.remove());
  afterEach(async () => {
    for (const one of running.splice(0)) expect(await one.stop(), one.output).to.equal(0);
  });

  async function start(source: readonly string[]): Promise<{ agent: ServiceProcess; at: Ports }> {
    const chosen = await Promise.all(ports.map(async (name) => [name, await freePort()] as const));
    const args = chosen.flatMap(([name, port]) => [`--${name}`, String(port)]);
    const agent = new ServiceProcess(binaries.agent, {
      args: ["start", "--host", "127.0.0.1", ...args, ...source],
      image: agentImage,
    });
    running.push(agent);
    return { agent, at: Object.fromEntries(chosen) as unknown as Ports };
  }

  const connectOf = (at: Ports): Promise<{ status: number; body: unknown }> =>
    firstAnswer(`http://127.0.0.1:${at.port}/flagd.evaluation.v1.Service/ResolveBoolean`, {
      flagKey: "on-off",
    });
  const ofrepOf = (at: Ports): Promise<{ status: number; body: unknown }> =>
    firstAnswer(`http://127.0.0.1:${at["ofrep-port"]}/ofrep/v1/evaluate/flags/on-off`, {});
  const bulkOf = (at: Ports): Promise<{ status: number; body: unknown }> =>
    firstAnswer(`http://127.0.0.1:${at["ofrep-port"]}/ofrep/v1/evaluate/flags`, {});

  async function expectFlags(source: readonly string[]): Promise<void> {
    const { agent, at } = await start(source);
    const [connect, ofrep, bulk] = await Promise.all([connectOf(at), ofrepOf(at), bulkOf(at)]);
    for (const { status, body } of [connect, ofrep]) {
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body).to.include({ value: true });
    }
    expect((bulk.body as { flags: unknown[] }).flags).to.have.length(1);
    const client = new StockSyncClient(`127.0.0.1:${at["sync-port"]}`);
    expect((await client.subscribe().messages.nextEvent()).flags).to.have.keys("on-off");
    client.close();
    running.pop();
    expect(await agent.stop()).to.equal(0);
  }

  it("are never that a flag does not exist, with a file", async () => {
    directory.replace("flags.json", JSON.stringify({ flags: { "on-off": flag } }));
    for (let i = 0; i < scaled(15, 3); i++)
      await expectFlags(["--uri", `file:${directory.file("flags.json")}`]);
  });

  it("nor behind a proxy", async () => {
    directory.replace("flags.yaml", manifest("flags", 1, "default"));
    const proxy = await startProxy(directory.path);
    for (let i = 0; i < scaled(8, 3); i++) await expectFlags(proxySources(proxy.sync, "default/flags"));
    expect(await proxy.process.stop()).to.equal(0);
  });

  it("are that the proxy has not answered yet, as long as it is away: probes and metrics are answered at once", async () => {
    directory.replace("flags.yaml", manifest("flags", 1, "default"));
    const port = await freePort();
    const { agent, at } = await start(proxySources(`127.0.0.1:${port}`, "default/flags"));
    const [connect, ofrep, bulk] = await Promise.all([connectOf(at), ofrepOf(at), bulkOf(at)]);
    const details = "a source that may have the flag has not answered yet";
    const failure = { errorCode: "GENERAL", errorDetails: details, metadata: null };
    expect(connect).to.deep.equal({ status: 503, body: { code: "unavailable", message: details } });
    expect(ofrep).to.deep.equal({ status: 503, body: { key: "on-off", ...failure } });
    expect(bulk).to.deep.equal({ status: 503, body: failure });
    const listening = agent.logs.filter(({ msg }) => msg === "listening").map(({ service }) => service);
    expect(listening[0]).to.equal("management");
    expect(await isReady(`http://127.0.0.1:${at["management-port"]}`)).to.equal(false);
    running.push((await startProxy(directory.path, ["--port", String(port)])).process);
    await eventually(async () => (await ofrepOf(at)).status === 200, "the flag");
    expect((await connectOf(at)).status).to.equal(200);
    expect(await isReady(`http://127.0.0.1:${at["management-port"]}`)).to.equal(true);
  });
});
