import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { expect } from "chai";
import { ReadFairness } from "../limits/read-fairness.js";
import { afterwards, releaseAfterEach } from "@bunting/test/support/grpc-port.js";
import { Http1Server, type Http1ServerOptions, type Http1Times } from "./http1-server.js";
import type { WholeRequestHandler } from "./whole-request-server.js";

const refused = "GET / HTTP/1.1\r\nx: ";

type GivenOptions = Partial<Omit<Http1ServerOptions, "times">> & { readonly times?: Partial<Http1Times> };

/** A client of a server that accepts 1,000 bytes of headers and 4,096 more. It reads once it is resumed. */
async function connectTo(onRequest: RequestListener, { times, ...options }: GivenOptions): Promise<Socket> {
  const http = new Http1Server(onRequest, {
    times: { headerTimeoutMs: 60_000, requestTimeoutMs: 60_000, ...times },
    stallClock: { tick: 0 },
    turns: new ReadFairness(),
    limits: { maxHeaderBytes: 1_000 },
    events: {},
    ...options,
  });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    http.accept(socket);
  });
  http.start();
  afterwards(async () => {
    http.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const client = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
  client.on("error", () => undefined);
  afterwards(() => client.destroy());
  await once(client, "connect");
  return client;
}

describe("an idle connection of HTTP/1.1", () => {
  releaseAfterEach();

  const whole: WholeRequestHandler = {
    headerNames: [],
    maxBodyBytes: 100,
    answer: () => ({ status: 200, headers: "", body: "{}" }),
  };
  const ways = {
    "node's server": {},
    "the server of whole requests": { wholeRequests: whole, times: { headerTimeoutMs: 40 } },
  } satisfies Record<string, GivenOptions>;
  for (const [name, options] of Object.entries(ways))
    it(`of ${name} is closed later than was announced: a request that was sent in time is on its way`, async () => {
      const client = await connectTo((_request, response) => void response.end("{}"), {
        ...options,
        times: { idleTimeoutMs: 1_000, ...("times" in options ? options.times : {}) },
      });
      client.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}");
      const [answer] = (await once(client, "data")) as [Buffer];
      const answeredMs = performance.now();
      expect(answer.toString()).to.match(
        /^HTTP\/1\.1 200 [^]*Connection: keep-alive\r\nKeep-Alive: timeout=1\r\n/,
      );
      await once(client, "end");
      // The answer was sent a little before it was read.
      expect(performance.now() - answeredMs).to.be.at.least(1_050);
    });
});

describe("a refused request over HTTP/1.1", () => {
  releaseAfterEach();

  async function connect(lingerMs?: number): Promise<{ client: Socket; refusal: Promise<void> }> {
    let onRefused: (() => void) | undefined;
    const refusal = new Promise<void>((resolve) => (onRefused = resolve));
    const client = await connectTo(() => expect.fail("a request was taken"), {
      ...(lingerMs === undefined ? {} : { times: { lingerMs } }),
      events: { onRefused },
    });
    return { client, refusal };
  }

  it("gets its answer though the client is still sending", async () => {
    const { client, refusal } = await connect(600_000);
    client.write(refused + "a".repeat(9_000));
    await refusal;
    for (let piece = 0; piece < 20; piece++)
      await new Promise<void>((resolve, reject) => {
        client.write("a".repeat(100), (error) => (error ? reject(error) : setImmediate(resolve)));
      });
    const [answer] = (await once(client, "data")) as [Buffer];
    expect(answer.toString()).to.match(/^HTTP\/1\.1 431 /);
  });

  it("ends the connection of a client that does not", async () => {
    const { client } = await connect();
    client.resume().write(refused + "a".repeat(9_000));
    await once(client, "end");
    // Bytes for a closed socket are answered with a reset.
    const sending = setInterval(() => client.write("a"), 20);
    afterwards(() => clearInterval(sending));
    await new Promise((resolve) => client.once("close", resolve));
  });
});
