import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { nextTurn } from "@bunting/runtime";
import { expect } from "chai";
import {
  afterwards,
  eventually,
  listen,
  rawClient,
  releaseAfterEach,
} from "@bunting/test/support/grpc-port.js";
import { ReadFairness, type ReadFairnessOptions } from "../limits/read-fairness.js";

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
const whole = "POST /whole HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n";
const large = "x".repeat(8 * 1024 * 1024);
/** Of requests that are answered without node's server. */
const wholeBodies: Readonly<Record<string, string>> = { "/whole": "answered at once", "/large": large };
const lastLine = /connection: close\r\n/i;

describe("a port that stops listening", () => {
  releaseAfterEach();

  /** Answers with the body of a request, or with "begun" and then whatever the test makes of it. */
  async function serve(turns: ReadFairnessOptions = {}) {
    const begun: ServerResponse[] = [];
    const taken: string[] = [];
    const accepted: Socket[] = [];
    const onAccepted = (message: unknown): void => void accepted.push((message as { socket: Socket }).socket);
    subscribe("net.server.socket", onAccepted);
    afterwards(() => unsubscribe("net.server.socket", onAccepted));
    const listener = await listen({
      turns: new ReadFairness(turns),
      http: (request, response) => {
        taken.push(request.url ?? "");
        if (request.url === "/stream") {
          begun.push(response);
          response.write("begun");
          return;
        }
        const pieces: Buffer[] = [];
        request.on("data", (piece: Buffer) => pieces.push(piece));
        request.on("end", () => response.end(Buffer.concat(pieces)));
      },
      wholeRequests: {
        headerNames: [],
        maxBodyBytes: 1_000,
        answer: ({ target }) => {
          const body = wholeBodies[target];
          return body === undefined ? undefined : { status: 200, headers: "", body };
        },
      },
    });
    /** The port has read so much of all its clients together. */
    const isRead = (bytes: number): Promise<void> =>
      eventually(() => accepted.reduce((sum, { bytesRead }) => sum + bytesRead, 0) === bytes);
    return { listener, begun, taken, isRead };
  }
  const client = async (listener: Awaited<ReturnType<typeof serve>>["listener"], text = "") => {
    const raw = await rawClient(listener);
    if (text !== "") raw.send(text);
    return raw;
  };

  for (const [state, first, rest] of [
    ["a part of the line", "PO", "ST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nabcd"],
    ["a part of the head", "POST / HTTP/1.1\r\nhost: a\r\ncontent-le", "ngth: 4\r\n\r\nabcd"],
    ["a part of the body", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nab", "cd"],
    [
      "a part of a chunked body",
      "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n2",
      "\r\ncd\r\n0\r\n\r\n",
    ],
  ] as const)
    it(`answers a request of which ${state} has arrived, and says that the connection closes`, async () => {
      const { listener, isRead } = await serve();
      const clients = [await client(listener, whole), await client(listener)];
      await eventually(() => clients[0]?.received.includes("answered at once") === true);
      const begin = clients.map(({ received }) => received.length);
      for (const one of clients) one.send(first);
      await isRead(whole.length + 2 * first.length);
      const stopped = listener.stopListening();
      for (const one of clients) one.send(rest);
      await Promise.all(clients.map(({ closed }) => closed));
      await stopped;
      for (const [index, { received }] of clients.entries()) {
        const answer = received.slice(begin[index]);
        expect(answer).to.match(/^HTTP\/1\.1 200 OK\r\n/);
        expect(answer).to.match(lastLine);
        expect(answer).to.contain("abcd");
      }
    });

  it("closes at once what has not begun to ask, or has been answered", async () => {
    const { listener } = await serve();
    const clients = [await client(listener)];
    for (const request of [whole, get("/")]) {
      const one = await client(listener, request);
      await eventually(() => one.received.includes("200 OK"));
      clients.push(one);
    }
    await listener.stopListening();
    await Promise.all(clients.map(({ closed }) => closed));
  });

  it("answers those that ask a last time while there is time for it, and says that the connection closes", async () => {
    const { listener } = await serve();
    const clients = [await client(listener, whole), await client(listener, get("/")), await client(listener)];
    await eventually(() => clients.slice(0, 2).every(({ received }) => received.includes("200 OK")));
    const begin = clients.map(({ received }) => received.length);
    const stopped = listener.stopListening(60_000);
    const unheard = await client(listener).catch((error: unknown) => error);
    expect(unheard).to.include({ code: "ECONNREFUSED" });
    for (const [i, one] of clients.entries()) one.send(i === 0 ? whole : get("/"));
    await Promise.all(clients.map(({ closed }) => closed));
    for (const [i, { received }] of clients.entries()) {
      expect(received.slice(begin[i])).to.match(/^HTTP\/1\.1 200 OK\r\n/);
      expect(received.slice(begin[i])).to.match(lastLine);
    }
    await listener.close();
    await stopped;
  });

  it("closes those that do not ask when that time is over, and those that have asked already when they are answered", async () => {
    const { listener, begun } = await serve();
    const clients = [
      await client(listener, whole),
      await client(listener),
      await client(listener, get("/stream")),
    ];
    await eventually(() => clients[0]?.received.includes("200 OK") === true && begun.length === 1);
    const stopped = listener.stopListening(1);
    await Promise.all(clients.slice(0, 2).map(({ closed }) => closed));
    begun[0]?.end("the end");
    await clients[2]?.closed;
    await stopped;
    expect(clients[2]?.received).to.contain("the end");
  });

  it("answers requests that wait unread because turns had their work without them, though the time is over meanwhile", async () => {
    const ends: (() => void)[] = [];
    const { listener } = await serve({ afterTurn: (end) => ends.push(end) });
    const greedy = await client(listener, whole);
    const others = [await client(listener, whole), await client(listener, get("/"))];
    await eventually(() => [greedy, ...others].every(({ received }) => received.includes("200 OK")));
    greedy.send(whole.replace("/whole", "/large"));
    await eventually(() => greedy.received.endsWith(large));
    others[0]?.send(whole.replace("/whole", "/last"));
    others[1]?.send(get("/last"));
    const lastCallMs = 1;
    const stopped = listener.stopListening(lastCallMs);
    await delay(2 * lastCallMs);
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    await eventually(() => {
      for (const end of ends.splice(0)) end();
      return [greedy, ...others].every(({ socket }) => socket.destroyed);
    });
    await stopped;
    for (const { received } of others) {
      expect(received.match(/HTTP\/1\.1 200 OK/g)).to.have.length(2);
      expect(received).to.match(lastLine);
    }
  });

  it("sends all of a last answer that the system does not take at once", async () => {
    const { listener } = await serve();
    const one = await client(listener, whole);
    await eventually(() => one.received.includes("at once"));
    const stopped = listener.stopListening(60_000);
    one.send(whole.replace("/whole", "/large"));
    await one.closed;
    expect(one.received.endsWith(large)).to.equal(true);
    await listener.close();
    await stopped;
  });

  it("sends all of an answer that its client is still reading, and closes the connection then", async () => {
    const { listener, isRead } = await serve();
    const one = await client(listener);
    const request = whole.replace("/whole", "/large");
    one.socket.pause();
    one.send(request);
    await isRead(request.length);
    const stopped = listener.stopListening();
    one.socket.resume();
    await one.closed;
    await stopped;
    expect(one.received.endsWith(large)).to.equal(true);
  });

  it("answers all requests that a client has sent ahead, the last one as the last", async () => {
    const { listener, begun, taken } = await serve();
    const one = await client(listener, get("/stream") + get("/2") + get("/3"));
    await eventually(() => one.received.includes("begun"));
    const stopped = listener.stopListening();
    begun[0]?.end();
    await one.closed;
    await stopped;
    expect(taken).to.deep.equal(["/stream", "/2", "/3"]);
    expect(one.received.match(/HTTP\/1\.1 200/g)).to.have.length(3);
    expect(one.received.split(lastLine)).to.have.length(2);
    expect(one.received.toLowerCase().lastIndexOf("connection: close")).to.be.greaterThan(
      one.received.lastIndexOf("HTTP/1.1 200"),
    );
  });

  it("closes a connection after an answer that had begun before, and resolves then", async () => {
    const { listener, begun } = await serve();
    const one = await client(listener, get("/stream"));
    await eventually(() => one.received.includes("begun"));
    const events: string[] = [];
    const stopped = listener.stopListening().then(() => events.push("stopped"));
    begun[0]?.write("more");
    await eventually(() => one.received.includes("more"));
    expect(events).to.deep.equal([]);
    begun[0]?.end("the end");
    await one.closed;
    await stopped;
    expect(one.received).to.contain("the end");
  });

  it("does not wait any more once it is closed", async () => {
    const { listener } = await serve();
    const one = await client(listener, get("/stream"));
    await eventually(() => one.received.includes("begun"));
    const stopped = listener.stopListening();
    await Promise.all([listener.close(), stopped, one.closed]);
  });
});

describe("garbage behind a request over HTTP/1.1", () => {
  releaseAfterEach();

  it("gets no second answer after one that was the last", async () => {
    const listener = await listen({ http: (_, response) => response.end() });
    const one = await rawClient(listener);
    one.send("GET / HTTP/1.1\r\n\r\n\0garbage\r\n\r\n");
    await one.closed;
    expect(one.received.match(/HTTP\/1\.1 400/g)).to.have.length(1);
  });

  it("adds nothing to an answer that is under way", async () => {
    const listener = await listen({
      http: (_, response) => void response.write("begun"),
    });
    const one = await rawClient(listener);
    one.send(get("/stream"));
    await eventually(() => one.received.includes("begun"));
    one.send("\0garbage\r\n\r\n");
    await one.closed;
    expect(one.received.match(/HTTP\/1\.1/g)).to.have.length(1);
  });
});
