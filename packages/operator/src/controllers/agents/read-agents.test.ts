import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { readAgents, readAgentsOf, type ProxyEndpoint } from "./read-agents.js";

const signal = new AbortController().signal;
const one = { topic: "shop/checkout", uid: "u", generation: 1, subscribers: 3, current: 2, refusing: 0 };

describe("readAgents", () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  async function read(answer: RequestListener): ReturnType<typeof readAgents> {
    return readAgents(await endpointOf(answer), signal);
  }

  async function endpointOf(answer: RequestListener): Promise<ProxyEndpoint> {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return { host: "127.0.0.1", port, token: "secret" };
  }

  const answering =
    (body: string, status = 200): RequestListener =>
    (_request, response) =>
      void response.writeHead(status).end(body);

  it("asks with the token for agents alone", async () => {
    let asked: unknown[] = [];
    const told = await read(({ url, headers }, response) => {
      asked = [url, headers.authorization];
      response.end(JSON.stringify({ topics: [one] }));
    });
    expect(asked).to.deep.equal(["/status?agents&from=0", "Bearer secret"]);
    expect(told).to.deep.equal([one]);
  });

  it("reads page after page, and takes of a topic that is on two of them what came last", async () => {
    const two = { ...one, topic: "shop/payment" };
    const pages: Readonly<Record<string, object>> = {
      "/status?agents&from=0": { topics: [one, two], next: 7 },
      "/status?agents&from=7": { topics: [{ ...one, current: 3 }], next: 9 },
      "/status?agents&from=9": { topics: [] },
    };
    const told = await read(({ url = "" }, response) => void response.end(JSON.stringify(pages[url])));
    expect(told).to.deep.equal([{ ...one, current: 3 }, two]);
  });

  it("reads a page on which the remote of one FeatureFlag is in a state that only a later proxy knows", async () => {
    const topics = [one, { ...one, topic: "shop/far", remote: { state: "paused", message: "It is paused" } }];
    expect(await read(answering(JSON.stringify({ topics })))).to.deep.equal(topics);
    const odd = [{ ...one, remote: { state: 7 } }];
    expect(await read(answering(JSON.stringify({ topics: odd })))).to.equal(undefined);
  });

  it("asks for addresses, a hundred at a time, and with none to know whether there is an answer", async () => {
    const asked: number[] = [];
    const endpoint = await endpointOf(({ url = "" }, response) => {
      const addresses = new URL(url, "http://proxy").searchParams.get("addresses")?.split(",") ?? [];
      asked.push(addresses.filter((each) => each !== "").length);
      response.end(
        JSON.stringify({
          addresses: addresses.map((address) => ({ address, subscriptions: 1, current: 1 })),
        }),
      );
    });
    const addresses = Array.from({ length: 250 }, (_, index) => `fd00::${index}`);
    const told = await readAgentsOf(endpoint, addresses, signal);
    expect(told?.map(({ address }) => address)).to.deep.equal(addresses);
    expect(asked.splice(0)).to.deep.equal([100, 100, 50]);
    await readAgentsOf(endpoint, [], signal);
    expect(asked).to.deep.equal([0]);
    const older = await endpointOf(answering(JSON.stringify({ topics: [one] })));
    expect(await readAgentsOf(older, ["10.0.0.1"], signal)).to.equal(undefined);
  });

  for (const [what, answer] of [
    ["has no such page, as the open-feature-operator's", answering("not found", 404)],
    ["answers with its whole status, as one from before", answering('{"version":"0"}')],
    ["has other topics than expected", answering('{"topics":[{"topic":"a/b"}]}')],
  ] as const) {
    it(`is undefined if the proxy ${what}`, async () => {
      expect(await read(answer)).to.equal(undefined);
    });
  }

  for (const [what, answer] of [
    ["refuses", answering("no", 403)],
    ["answers something else than JSON", answering("<html>")],
    ["breaks off", (_request, response) => void response.socket?.destroy()],
    ["answers without end", (_request, response) => pourInto(response)],
    ["has pages without end", answering(JSON.stringify({ topics: [one], next: 1 }))],
  ] as const satisfies readonly (readonly [string, RequestListener])[]) {
    it(`is an error if the proxy ${what}`, async () => {
      expect(await read(answer).catch((error: unknown) => error)).to.be.instanceOf(Error);
    });
  }
});

function pourInto(response: Parameters<RequestListener>[1]): void {
  const chunk = Buffer.alloc(65_536, " ");
  const pour = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", pour);
  pour();
}
