import { Agent, request } from "node:http";
import { expect } from "chai";
import { AttackedAgent } from "./support/attacked-agent.js";

const methods = ["GET", "HEAD", "PUT", "PATCH", "DELETE"];
const paths = ["/x", "/ofrep/v1/evaluate/flags/on", "/ofrep/v1/evaluate/flags/%"];

function ask(agent: Agent, port: number, method: string, path: string, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, agent, method, path, headers: { host } };
    request(options, (response) => {
      response.resume().once("close", resolve);
    })
      .once("error", reject)
      .end();
  });
}

/** Labels that clients choose: each scrape of /metrics writes all of their combinations. */
describe("an agent whose clients make up host names", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start()));
  afterEach(() => agent.stop());

  it("writes small metrics, to eight scrapes at once", async () => {
    const connections = new Agent({ keepAlive: true, maxSockets: 8 });
    const asked: Promise<void>[] = [];
    for (let host = 0; host < 50; host++) {
      const name = `h${host}-`.padEnd(250, "x");
      for (const method of methods) {
        for (const path of paths) asked.push(ask(connections, agent.port("ofrep"), method, path, name));
      }
    }
    await Promise.all(asked);
    connections.destroy();
    const scrapes = Array.from({ length: 8 }, async () =>
      (await fetch(agent.url("management", "/metrics"))).text(),
    );
    for (const text of await Promise.all(scrapes)) {
      expect(text).to.contain('otel_metric_overflow="true"');
      expect(text.length).to.be.below(2 * 1024 * 1024);
    }
    await agent.isWell();
  });
});
