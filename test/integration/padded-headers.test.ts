import { request } from "node:http";
import { expect } from "chai";
import { HostilePeer } from "../abuse/support/hostile-peer.js";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { portOf, startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const padded = { "x-team": " payments ", "x-empty": "   ", "user-agent": "\tapp\t" };

/** Such a value comes from an application's metadata; flagd and flagd-proxy answer. */
describe("headers whose values begin or end with blanks", () => {
  let directory: TempDirectory;
  let agent: AgentProcess;
  let proxy: ProxyProcess;

  before(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    directory.replace("flags.json", JSON.stringify({ flags: {} }));
    proxy = await startProxy(directory.path);
    agent = await startAgent([`--uri=file:${directory.file("flags.json")}`, "--sync-http-enabled"]);
    await eventually(() => isReady(agent.management), "the agent is ready");
  });

  after(async () => {
    for (const { process } of [agent, proxy]) expect(await process.stop(), process.output).to.equal(0);
    directory.remove();
  });

  const managementOf = ({ management }: AgentProcess | ProxyProcess): number =>
    Number(new URL(management).port);
  const ports: readonly (readonly [name: string, port: () => number, path: string])[] = [
    [
      "the agent's evaluation port",
      () => agent.ports.get("evaluation") ?? 0,
      "/flagd.evaluation.v1.Service/ResolveAll",
    ],
    [
      "the agent's sync port",
      () => agent.ports.get("sync") ?? 0,
      "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
    ],
    ["the agent's OFREP port", () => agent.ports.get("ofrep") ?? 0, "/ofrep/v1/evaluate/flags"],
    ["the agent's management port", () => managementOf(agent), "/grpc.health.v1.Health/Check"],
    ["the proxy's sync port", () => portOf(proxy), "/grpc.health.v1.Health/Check"],
    ["the proxy's management port", () => managementOf(proxy), "/grpc.health.v1.Health/Check"],
  ];

  for (const [name, port, path] of ports)
    it(`are answered over HTTP/2 on ${name}`, async () => {
      if (name.includes("OFREP")) return expectOverHttp1(port(), path);
      const peer = await HostilePeer.connect(port());
      const id = await peer.request(path, { headers: padded, message: Buffer.alloc(0) });
      await eventually(() => peer.ended.has(id) || peer.isClosed || peer.resets.has(id), "the answer");
      expect([...peer.resets.values()], "resets").to.deep.equal([]);
      expect(peer.ended.has(id)).to.equal(true);
      peer.destroy();
    });

  async function expectOverHttp1(port: number, path: string): Promise<void> {
    const status = await new Promise((resolve, reject) => {
      const headers = { ...padded, "content-type": "application/json", "content-length": "2" };
      request({ port, host: "127.0.0.1", path, method: "POST", headers, agent: false })
        .on("response", ({ statusCode }) => resolve(statusCode))
        .on("error", reject)
        .end("{}");
    });
    expect(status).to.equal(200);
  }
});
