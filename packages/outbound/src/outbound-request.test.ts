import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { systemClock } from "@bunting/runtime";
import { HttpFailure } from "@bunting/sync-client/http";
import { eventually } from "@bunting/test/support/event-queue.js";
import { testTls } from "@bunting/test/support/faulty-api-server/index.js";
import { HttpServer } from "@bunting/test/support/http-server.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { AddressGuard } from "./address-guard.js";
import { parseAllowedHost } from "./allowed-host.js";
import { NameServer } from "./name-server.fixture.js";
import { OutboundClient, type OutboundAnswer, type OutboundRequest } from "./outbound-request.js";

const never = new AbortController().signal;
const limits = { bytes: 10_000, depth: 20, timeoutMs: 60_000 };

describe("OutboundClient", () => {
  const names = new NameServer();
  let server: HttpServer;
  let clients: OutboundClient[];
  before(() => names.start());
  after(() => names.stop());
  beforeEach(async () => {
    clients = [];
    server = new HttpServer();
    await server.start("127.0.0.2");
    names.answer("127.0.0.2");
  });
  afterEach(async () => {
    for (const client of clients) client.close();
    await eventually(() => server.open === 0, "no connection is left");
    await server.stop();
  });

  function clientOf(
    hosts: readonly string[],
    options: { ca?: string; clock?: ManualClock } = {},
  ): OutboundClient {
    const guard = new AddressGuard({
      hosts: hosts.map(parseAllowedHost),
      option: "--remote-hosts",
      resolve: names.resolve,
    });
    const client = new OutboundClient({ guard, ca: options.ca, clock: options.clock ?? systemClock });
    clients.push(client);
    return client;
  }

  function client(): OutboundClient {
    return clientOf([`http://flags.test:${server.port}=127.0.0.2`]);
  }

  function get(fields: Partial<OutboundRequest> = {}): OutboundRequest {
    return { url: `http://flags.test:${server.port}/`, method: "GET", headers: {}, limits, ...fields };
  }

  async function failure(answer: Promise<OutboundAnswer>): Promise<string> {
    try {
      return `answered ${(await answer).status}`;
    } catch (error) {
      return error instanceof HttpFailure ? error.code : String(error);
    }
  }

  it("calls the address that the name has", async () => {
    server.answer = (_request, response) => void response.end('{"flags":{}}');
    const { status, body } = await client().request(get({ headers: { authorization: "Bearer s" } }), never);
    expect([status, body.toString()]).to.deep.equal([200, '{"flags":{}}']);
    expect((await server.requests.nextEvent()).headers).to.include({
      authorization: "Bearer s",
      host: `flags.test:${server.port}`,
    });
  });

  it("asks the name server once for a connection, and connects to what it was answered then", async () => {
    server.answer = (_request, response) => void response.end("{}");
    const inside = new HttpServer();
    await inside.start("127.0.0.1", server.port);
    try {
      names.asked.length = 0;
      names.answer("127.0.0.2", "127.0.0.1");
      const one = client();
      expect(await failure(one.request(get(), never))).to.equal("answered 200");
      expect(names.asked).to.deep.equal(["flags.test"]);
      // The connection is kept: nothing is asked again.
      expect(await failure(one.request(get(), never))).to.equal("answered 200");
      expect(names.asked).to.have.length(1);
      server.cut();
      await eventually(() => server.open === 0, "the connection is gone");
      expect(await failure(one.request(get(), never))).to.equal("address_refused");
      expect(inside.connections).to.equal(0);
    } finally {
      await inside.stop();
    }
  });

  it("does not follow a redirect, and sends no secret where it leads to", async () => {
    const inside = new HttpServer();
    const origin = await inside.start();
    try {
      server.answer = (_request, response) => void response.writeHead(302, { location: origin }).end();
      const answer = await client().request(get({ headers: { authorization: "Bearer s" } }), never);
      expect(answer.status).to.equal(302);
      expect(inside.connections).to.equal(0);
    } finally {
      await inside.stop();
    }
  });

  it("ends an answer without an end at its limit, and its connection with it", async () => {
    server.answer = (_request, response) => {
      const write = (): void => {
        if (response.write("x".repeat(1_000))) setImmediate(write);
      };
      response.on("drain", write).on("error", () => undefined);
      write();
    };
    expect(await failure(client().request(get(), never))).to.equal("too_large");
    await eventually(() => server.open === 0, "the connection is gone");
  });

  it("refuses an announced body that is too large before it comes", async () => {
    server.answer = (_request, response) =>
      void response.writeHead(200, { "content-length": "10001" }).write("{");
    expect(await failure(client().request(get(), never))).to.equal("too_large");
  });

  it("unpacks gzip, but not a bomb", async () => {
    const packed = { "content-encoding": "gzip" };
    server.answer = (_request, response) => void response.writeHead(200, packed).end(gzipSync("{}"));
    expect((await client().request(get(), never)).body.toString()).to.equal("{}");
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    expect(bomb.length).to.be.below(limits.bytes);
    server.answer = (_request, response) => void response.writeHead(200, packed).end(bomb);
    expect(await failure(client().request(get(), never))).to.equal("too_large");
    server.answer = (_request, response) => void response.writeHead(200, packed).end("no gzip");
    expect(await failure(client().request(get(), never))).to.equal("encoding");
    server.answer = (_request, response) =>
      void response.writeHead(200, { "content-encoding": "gzip, gzip" }).end(gzipSync(gzipSync("{}")));
    expect(await failure(client().request(get(), never))).to.equal("encoding");
  });

  it("refuses JSON that is nested too deep, but not brackets in its texts", async () => {
    server.answer = (_request, response) => void response.end("[".repeat(9_000));
    expect(await failure(client().request(get(), never))).to.equal("too_deep");
    const texts = JSON.stringify({ a: `"${"[".repeat(100)}\\` });
    server.answer = (_request, response) => void response.end(texts);
    expect(await failure(client().request(get(), never))).to.equal("answered 200");
    server.answer = (_request, response) => void response.end("[".repeat(20) + "]".repeat(20));
    expect(await failure(client().request(get(), never))).to.equal("answered 200");
    server.answer = (_request, response) => void response.end("[".repeat(21) + "]".repeat(21));
    expect(await failure(client().request(get(), never))).to.equal("too_deep");
  });

  /** Each of them never ends its answer. */
  const slow: readonly [what: string, beginning: string][] = [
    ["that says nothing", ""],
    ["that goes on with headers", "HTTP/1.1 200 OK\r\nx-more: "],
    ["whose body does not end", "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{"],
  ];
  for (const [what, beginning] of slow) {
    it(`gives up a server ${what} when its time is over, though bytes come all the time`, async () => {
      const sockets: Socket[] = [];
      const drip = createServer((socket) => {
        sockets.push(socket);
        socket.on("error", () => undefined).resume();
        socket.write(beginning);
      }).listen(0, "127.0.0.2");
      await once(drip, "listening");
      const { port } = drip.address() as AddressInfo;
      const clock = new ManualClock();
      try {
        const slowClient = clientOf([`http://flags.test:${port}=127.0.0.2`], { clock });
        const answer = failure(slowClient.request(get({ url: `http://flags.test:${port}/` }), never));
        await eventually(() => sockets.length === 1, "it is connected");
        for (let second = 0; second < 60; second++) {
          if (beginning !== "") sockets[0]?.write("x");
          clock.advance(1_000);
        }
        expect(await answer).to.equal("timeout");
        await eventually(() => sockets[0]?.destroyed === true, "the connection is gone");
      } finally {
        for (const socket of sockets) socket.destroy();
        drip.close();
      }
    });
  }

  it("has one connection at a time", async () => {
    server.answer = (_request, response) => void response.end("{}");
    const one = client();
    await Promise.all(Array.from({ length: 5 }, () => one.request(get(), never)));
    expect(server.connections).to.equal(1);
  });

  it("trusts the authority that it is given only, and a host by its name", async () => {
    const secure = new HttpServer(true);
    secure.answer = (_request, response) => void response.end("{}");
    const origin = await secure.start();
    try {
      const hosts = [`127.0.0.1:${secure.port}=127.0.0.1`, `other.test:${secure.port}=127.0.0.1`];
      const url = `${origin}/`;
      expect(await failure(clientOf(hosts).request(get({ url }), never))).to.equal("unreachable");
      const ca = String(testTls.ca);
      expect(await failure(clientOf(hosts, { ca }).request(get({ url }), never))).to.equal("answered 200");
      names.answer("127.0.0.1");
      const other = `https://other.test:${secure.port}/`;
      expect(await failure(clientOf(hosts, { ca }).request(get({ url: other }), never))).to.equal(
        "unreachable",
      );
    } finally {
      for (const client of clients) client.close();
      await secure.stop();
    }
  });

  it("rejects with the reason of an abort", async () => {
    const abort = new AbortController();
    server.answer = () => abort.abort(new Error("not wanted any more"));
    expect(await failure(client().request(get(), abort.signal))).to.equal("Error: not wanted any more");
  });
});
