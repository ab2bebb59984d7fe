import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { expect } from "chai";
import { statusPage, type StatusAudience } from "./status-page.js";
import type { StatusReport } from "./status-report.js";

const report: StatusReport = {
  version: "1.2.3",
  uptimeSeconds: 5,
  isReady: true,
  reason: "serving",
  watches: { object: 1, namespace: 0, cluster: 0 },
  connections: 2,
  subscribers: 3,
  behind: 1,
  topics: [
    {
      topic: "default/a",
      state: "stale",
      standing: "missing",
      staleReason: "<script> & more",
      subscribers: 1,
    },
    {
      topic: "default/b",
      state: "live",
      subscribers: 2,
      newest: {
        sequence: 4,
        digest: "0123456789abcdef",
        bytes: 100,
        flags: 7,
        uid: undefined,
        generation: undefined,
        resourceVersion: undefined,
        ageSeconds: 1.5,
        arrived: 1,
        behind: 1,
        afterMs: { "50": 2.5 },
      },
      rejections: [{ digest: "0123456789abcdef", flag: "<b>", reason: "no variants", subscribers: 3 }],
    },
  ],
};

describe("statusPage", () => {
  let server: Server;
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  async function ask(audience: StatusAudience, host = "127.0.0.1", accept = "*/*"): Promise<Response> {
    server = createServer(statusPage(() => report, audience));
    await new Promise<void>((resolve) => server.listen(0, () => resolve()));
    const { port } = server.address() as AddressInfo;
    return fetch(`http://${host}:${port}/status`, { headers: { accept, connection: "close" } });
  }

  it("is JSON", async () => {
    const response = await ask("loopback");
    expect(response.status).to.equal(200);
    expect(response.headers.get("content-type")).to.equal("application/json");
    expect(await response.json()).to.deep.equal(JSON.parse(JSON.stringify(report)));
  });

  it("is HTML for a browser, with all text escaped", async () => {
    const text = await (await ask("loopback", "127.0.0.1", "text/html,*/*")).text();
    expect(text).to.contain("default/b").and.contain("2.5 ms / – / –").and.contain("4 (01234567)");
    expect(text).to.contain("default/b 01234567: 3 agents refuse the flag &#60;b&#62;: no variants");
    expect(text).to.contain("stale: &#60;script&#62; &#38; more").and.not.contain("<script>");
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === "IPv4" && !each.internal)?.address;

  it("is shown on loopback only by default", async function () {
    if (outside === undefined) this.skip();
    const refused = await ask("loopback", outside);
    expect(refused.status).to.equal(403);
    expect(await refused.text()).to.contain("--status=all");
    server.close();
    expect((await ask("all", outside)).status).to.equal(200);
  });

  it("is not shown if it is off", async () => {
    expect((await ask("off")).status).to.equal(403);
  });
});
