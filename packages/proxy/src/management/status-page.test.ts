import { createHash } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { expect } from "chai";
import type { StatusAudience } from "./status/status-access.js";
import type { TopicQuery } from "./status/topic-rows.js";
import { statusPage } from "./status-page.js";
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
  late: { total: 0, shown: [] },
  leftBehind: { total: 0, shown: [] },
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
  const servers: Server[] = [];
  let asked: TopicQuery[] = [];
  let opened: boolean[] = [];
  let pages: (number | undefined)[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  async function ask(
    audience: StatusAudience,
    host = "127.0.0.1",
    accept = "*/*",
    path = "/status",
    authorization = "",
  ): Promise<Response> {
    asked = [];
    opened = [];
    pages = [];
    const answers = {
      report: () => report,
      agents: (from: number | undefined) => {
        pages.push(from);
        return { topics: [{ topic: "default/b", generation: 4, subscribers: 3, current: 2, refusing: 1 }] };
      },
      agentsOf: (addresses: readonly string[]) => ({
        addresses: addresses.map((address) => ({ address, subscriptions: 1, current: 0 })),
      }),
      feed: {
        open: (_: unknown, response: ServerResponse, seesAddresses: boolean) => {
          opened.push(seesAddresses);
          response.end();
        },
      },
      search: (query: TopicQuery) => {
        asked.push(query);
        return { total: 0, offset: 0, shown: [] };
      },
    };
    const tokens = { has: (presented: string | undefined) => presented === "Bearer token" };
    const server = createServer(statusPage(answers, audience, { tokens }));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, () => resolve()));
    const { port } = server.address() as AddressInfo;
    return fetch(`http://${host}:${port}${path}`, {
      headers: {
        accept,
        connection: "close",
        ...(authorization === "" ? {} : { authorization }),
      },
    });
  }

  it("is JSON", async () => {
    const response = await ask("loopback");
    expect(response.status).to.equal(200);
    expect(response.headers.get("content-type")).to.equal("application/json");
    expect(await response.json()).to.deep.equal(JSON.parse(JSON.stringify(report)));
  });

  it("is a page for a browser, whose policy allows its own script and style and nothing else", async () => {
    const response = await ask("loopback", "127.0.0.1", "text/html,*/*");
    const text = await response.text();
    expect(text).to.match(/^<!doctype html>/i);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).to.contain("default-src 'none'").and.not.contain("unsafe");
    for (const [name, directive] of [
      ["script", "script-src"],
      ["style", "style-src"],
    ] as const) {
      const inline = new RegExp(`<${name}>(.*)</${name}>`, "s").exec(text)?.[1] ?? "";
      const hash = createHash("sha256").update(inline).digest("base64");
      expect(policy).to.contain(`${directive} 'sha256-${hash}'`);
    }
  });

  it("is a stream of events for that page", async () => {
    await ask("loopback", "127.0.0.1", "text/event-stream");
    expect(opened).to.deep.equal([true]);
  });

  it("is a page of topics where some are searched", async () => {
    const response = await ask("all", "127.0.0.1", "*/*", "/status?search=%20Default/&only=stale&offset=50");
    expect(await response.json()).to.deep.equal({ total: 0, offset: 0, shown: [] });
    await ask("all", "127.0.0.1", "*/*", "/status?offset=-1e99");
    expect(asked).to.deep.equal([{ search: "", only: "", offset: 0 }]);
    await ask("all", "127.0.0.1", "*/*", `/status?search=${"x".repeat(5_000)}`);
    expect(asked[0]?.search).to.have.lengthOf(200);
    expect(await (await ask("all", "127.0.0.1", "*/*", "/status?t=1")).json()).to.have.property(
      "uptimeSeconds",
    );
  });

  it("is the number of agents of each topic where the operator asks", async () => {
    const response = await ask("loopback", "127.0.0.1", "*/*", "/status?agents");
    expect(await response.json()).to.deep.equal({
      topics: [{ topic: "default/b", generation: 4, subscribers: 3, current: 2, refusing: 1 }],
    });
    expect(pages).to.deep.equal([undefined]);
    expect(await (await ask("loopback", "127.0.0.1", "*/*", "/status?agentsx")).json()).to.have.property(
      "uptimeSeconds",
    );
  });

  for (const [query, from] of [
    ["agents&from=0", 0],
    ["agents&from=2000", 2_000],
    ["agents=&from=7&more=1", 7],
    ["agents&from=-1", undefined],
    ["agents&from=1e3", undefined],
  ] as const) {
    it(`is ${from === undefined ? "all of these" : `a page of these, from ${from}`}, where it asks for ${query}`, async () => {
      await ask("loopback", "127.0.0.1", "*/*", `/status?${query}`);
      expect(pages).to.deep.equal([from]);
    });
  }

  it("is what there is from some addresses, for who asks on loopback or with a token, and no more of them than a limit", async () => {
    const of = async (addresses: string, token?: string, audience: StatusAudience = "loopback") => {
      const path = `/status?agents&addresses=${addresses}`;
      const response = await ask(audience, token === undefined ? "127.0.0.1" : outside, "*/*", path, token);
      return (await response.json()) as { readonly addresses?: readonly { readonly address: string }[] };
    };
    const answer = { address: "10.0.0.1", subscriptions: 1, current: 0 };
    expect(await of("10.0.0.1")).to.deep.equal({ addresses: [answer] });
    expect((await of("10.0.0.1,fd00::1,")).addresses?.map(({ address }) => address)).to.deep.equal([
      ...["10.0.0.1", "fd00::1"],
    ]);
    expect((await of(Array.from({ length: 500 }, () => "10.0.0.1").join())).addresses).to.have.lengthOf(128);
    expect((await of("")).addresses).to.deep.equal([]);
    if (outside === undefined) return;
    expect(await of("10.0.0.1", "Bearer token")).to.deep.equal({ addresses: [answer] });
    expect(await of("10.0.0.1", "", "all"), "anybody").to.have.all.keys("topics");
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === "IPv4" && !each.internal)?.address;

  it("is shown on loopback only by default", async function () {
    if (outside === undefined) this.skip();
    const refused = await ask("loopback", outside);
    expect(refused.status).to.equal(403);
    expect(await refused.text()).to.contain("--status=all");
    expect((await ask("all", outside)).status).to.equal(200);
    await ask("all", outside, "text/event-stream");
    expect(opened, "sees addresses").to.deep.equal([false]);
  });

  it("is shown without names of subscribers to whoever has a token, from anywhere, unless it is off", async function () {
    if (outside === undefined) this.skip();
    const withToken = (audience: StatusAudience, token: string): Promise<Response> =>
      ask(audience, outside, "text/event-stream", "/status", `Bearer ${token}`);
    expect((await withToken("loopback", "token")).status).to.equal(200);
    expect(opened, "sees addresses").to.deep.equal([false]);
    expect((await withToken("loopback", "other")).status).to.equal(403);
    expect((await withToken("off", "token")).status).to.equal(403);
    await ask("loopback", "127.0.0.1", "text/event-stream", "/status", "Bearer other");
    expect(opened, "on loopback no token is needed").to.deep.equal([true]);
  });

  it("is not shown if it is off", async () => {
    expect((await ask("off")).status).to.equal(403);
  });
});
