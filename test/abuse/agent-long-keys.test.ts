import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect } from "chai";
import { AttackedAgent } from "./support/attacked-agent.js";

const keyBytes = 100_000;
/** Together more than the heap of the agent in its image. */
const evaluations = 500;

describe("an agent whose clients ask for made-up flags with long keys", () => {
  let collector: Server;
  const connections = new Set<Socket>();
  let agent: AttackedAgent;
  before("starts a collector that never answers", async () => {
    collector = createServer((socket) => {
      connections.add(socket.on("error", () => undefined).pause());
    });
    collector.listen(0, "127.0.0.1");
    await once(collector, "listening");
  });
  afterEach(() => agent.stop());
  after(() => {
    for (const socket of connections) socket.destroy();
    collector.close();
  });

  async function askForMadeUpFlags(): Promise<void> {
    const url = agent.url("evaluation", "/flagd.evaluation.v2.Service/ResolveBoolean");
    const headers = { "content-type": "application/json" };
    for (let asked = 0; asked < evaluations; asked++) {
      const flagKey = `${asked}-`.padEnd(keyBytes, "k");
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ flagKey }) });
      expect(response.status).to.equal(404);
      await response.arrayBuffer();
    }
  }

  it("does not keep the keys to notice flags that fail", async () => {
    agent = await AttackedAgent.start();
    await askForMadeUpFlags();
    await agent.isWell();
  });

  it("does not keep the keys in spans while the collector is silent", async () => {
    const { port } = collector.address() as AddressInfo;
    agent = await AttackedAgent.start("--otel-collector-uri", `127.0.0.1:${port}`);
    await askForMadeUpFlags();
    await agent.isWell();
  });
});
