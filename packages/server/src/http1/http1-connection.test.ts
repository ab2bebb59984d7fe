import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createConnection } from "node:net";
import { expect } from "chai";
import { PeerMemory } from "../limits/peer-memory.js";
import { ReadFairness } from "../limits/read-fairness.js";
import type { DropReason } from "../port/port-listener-options.js";
import {
  afterwards,
  eventually,
  listen,
  ManualClock,
  rawClient,
  releaseAfterEach,
} from "@bunting/test/support/grpc-port.js";

describe("an HTTP/1.1 connection", () => {
  releaseAfterEach();

  async function answersTo(requests: number): Promise<{ answers: number; parsed: number; received: string }> {
    let answers = 0;
    let parsed = 0;
    const onParsed = (): void => {
      parsed++;
    };
    subscribe("http.server.request.start", onParsed);
    afterwards(() => unsubscribe("http.server.request.start", onParsed));
    const listener = await listen({
      http: (_request, response) => {
        answers++;
        response.end("an answer");
      },
    });
    const client = await rawClient(listener);
    const last = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(requests - 1) + last);
    await client.closed;
    return { answers, parsed, received: client.received };
  }

  it("answers some requests that came ahead of the answers", async () => {
    const { answers, received } = await answersTo(20);
    expect(answers).to.equal(20);
    expect(received.split("an answer")).to.have.length(21);
  });

  it("is ended, before anything is done for it, if it sends too many at once", async () => {
    const { answers, parsed } = await answersTo(1_000);
    expect(answers).to.equal(0);
    expect(parsed).to.be.below(100);
  });

  it("is charged for what comes of requests that wait behind an answer, until it is their turn", async () => {
    const memory = new PeerMemory(64 * 1024 * 1024);
    const bodies: number[] = [];
    let answer: () => void = () => undefined;
    const listener = await listen({
      memory,
      http: (request, response) => {
        let bytes = 0;
        request.on("data", (piece: Buffer) => (bytes += piece.length));
        request.on("end", () => {
          if (bodies.push(bytes) === 1) answer = () => response.end("an answer");
          else response.end("an answer");
        });
      },
    });
    const client = await rawClient(listener);
    client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    await eventually(() => bodies.length === 1, "the first request");
    const before = memory.bytes;
    const [pieces, whole] = [1_000, 50_000];
    client.send(
      `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(pieces)}0\r\n\r\n` +
        `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${whole}\r\n\r\n${"x".repeat(whole)}`,
    );
    await eventually(() => memory.bytes >= before + pieces * 256 + whole, "both to be charged");
    expect(bodies).to.deep.equal([0]);
    answer();
    await eventually(() => client.received.split("an answer").length === 4, "all answers");
    expect(bodies).to.deep.equal([0, pieces, whole]);
    expect(memory.bytes).to.be.at.most(before);
  });

  it("is charged for large heads, of requests that wait and of the one that is answered", async () => {
    const memory = new PeerMemory(64 * 1024 * 1024);
    const answers: (() => void)[] = [];
    const http = (_: unknown, response: ServerResponse): void =>
      void answers.push(() => response.end("an answer"));
    const client = await rawClient(await listen({ memory, http }));
    const request = (headers: number): string =>
      `GET / HTTP/1.1\r\nhost: a\r\n${"x: y\r\n".repeat(headers)}\r\n`;
    client.send(request(2));
    await eventually(() => answers.length === 1, "an ordinary request");
    const ordinary = memory.bytes;
    answers.shift()?.();
    client.send(request(500));
    await eventually(() => answers.length === 1, "a request with many headers");
    expect(memory.bytes - ordinary).to.be.within(60_000, 70_000);
    client.send(request(500) + request(500));
    await eventually(() => memory.bytes - ordinary > 190_000, "two that wait");
    for (let answered = 0; answered < 3; answered++) {
      await eventually(() => answers.length === 1, "the next one");
      answers.shift()?.();
    }
    await eventually(() => memory.bytes < ordinary + 10_000, "all to be given back");
  });

  it("is charged for a head that has not ended, until the request is taken and then answered", async () => {
    const memory = new PeerMemory(64 * 1024 * 1024);
    let answer: (() => void) | undefined;
    const http = (_: unknown, response: ServerResponse): void => {
      answer = () => response.end("an answer");
    };
    const client = await rawClient(await listen({ memory, http }));
    client.send("GET / HTTP/1.1\r\nhost: a\r\n");
    await eventually(() => memory.bytes > 0, "the connection");
    const before = memory.bytes;
    client.send("x: y\r\n".repeat(500));
    await eventually(() => memory.bytes - before > 55_000, "480 headers or more to be charged");
    client.send("\r\n");
    await eventually(() => answer !== undefined, "the request");
    expect(memory.bytes - before, "charged once").to.be.within(55_000, 70_000);
    answer?.();
    await eventually(() => memory.bytes === before, "all to be given back");
  });

  it("is charged for trailers that have not ended, also after the answer, and for those of requests that wait", async () => {
    const memory = new PeerMemory(64 * 1024 * 1024);
    const answers: (() => void)[] = [];
    const http = (_: unknown, response: ServerResponse): void =>
      void answers.push(() => response.end("an answer"));
    const client = await rawClient(await listen({ memory, http }));
    const chunked = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n";
    const trailers = "x: y\r\n".repeat(500);
    const held = (many: number): Promise<void> =>
      eventually(
        () => memory.bytes - before > many * 55_000,
        `the trailers of ${many} requests to be charged`,
      );
    client.send(chunked);
    await eventually(() => answers.length === 1, "the first request");
    const before = memory.bytes;
    client.send(trailers);
    await held(1);
    answers.shift()?.();
    await eventually(() => client.received.includes("an answer"), "the first answer");
    await held(1);
    client.send(`\r\n${chunked}`);
    await eventually(() => answers.length === 1, "the second request");
    expect(memory.bytes).to.equal(before);
    client.send(`${trailers}\r\n${chunked}${trailers}\r\n${chunked}${trailers}\r\n`);
    await held(3);
    for (let answered = 0; answered < 3; answered++) {
      await eventually(() => answers.length === 1, "the next request");
      answers.shift()?.();
    }
    await eventually(() => memory.bytes === before, "all to be given back");
  });

  it("gives way to others after some heads of hundreds of headers that do not end", async () => {
    const turns = new ReadFairness();
    let work = 0;
    const enter = turns.enter.bind(turns);
    turns.enter = (reader, peer) => {
      const share = enter(reader, peer);
      const spend = share.spend.bind(share);
      share.spend = (spent) => {
        work += spent;
        spend(spent);
      };
      return share;
    };
    const client = await rawClient(await listen({ turns, http: () => undefined }));
    client.send(`GET / HTTP/1.1\r\nhost: a\r\n${"x: y\r\n".repeat(500)}`);
    await eventually(() => work > 6, "the work of several requests to be counted");
  });

  it("is ended after a request with two Host headers, which is refused", async () => {
    const hosts: unknown[] = [];
    const listener = await listen({
      http: (request, response) => {
        hosts.push(request.headers.host);
        response.end("an answer");
      },
    });
    const client = await rawClient(listener);
    client.send(
      "GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: b\r\nHOST: c\r\n\r\nGET / HTTP/1.1\r\nhost: d\r\n\r\n",
    );
    await client.closed;
    expect(client.received).to.match(
      /an answer[^]*HTTP\/1\.1 400 Bad Request[^]*more than one Host header\.\n/,
    );
    expect(hosts).to.deep.equal(["a"]);
  });

  for (const [what, request, refusal] of [
    ["no Host header", "GET / HTTP/1.1\r\n\r\n", /HTTP\/1\.1 400 Bad Request[^]*no Host header\.\n$/],
    [
      "an expectation that can't be met",
      "GET / HTTP/1.1\r\nhost: a\r\nexpect: tea\r\n\r\n",
      /HTTP\/1\.1 417 Expectation Failed[^]*else than 100-continue\.\n$/,
    ],
  ] as const) {
    it(`is ended after a request with ${what}, which is refused in its turn`, async () => {
      let answer: (() => void) | undefined;
      const listener = await listen({
        http: (_request, response) => (answer = () => response.end("an answer")),
      });
      const client = await rawClient(listener);
      client.send(`GET / HTTP/1.1\r\nhost: a\r\n\r\n${request}GET / HTTP/1.1\r\nhost: d\r\n\r\n`);
      await eventually(() => answer !== undefined, "the first request");
      answer?.();
      await client.closed;
      expect(client.received).to.match(refusal);
      expect(client.received.split("an answer")).to.have.length(2);
    });

    it(`is ended if it sends too many requests at once with ${what}`, async () => {
      let parsed = 0;
      const onParsed = (): void => {
        parsed++;
      };
      subscribe("http.server.request.start", onParsed);
      afterwards(() => unsubscribe("http.server.request.start", onParsed));
      const refused: string[] = [];
      const listener = await listen({
        // Its answer does not end, and those behind it wait.
        http: (_request, response) => response.flushHeaders(),
        onRefused: (reason) => refused.push(reason),
      });
      const client = await rawClient(listener);
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
      await eventually(() => client.received !== "", "the beginning of the first answer");
      client.send(request.repeat(1_000));
      await client.closed;
      expect(parsed).to.be.below(100);
      expect(refused).to.deep.equal(["pipelining"]);
    });
  }

  it("takes a request of HTTP/1.0 without a Host header, and one that expects 100-continue", async () => {
    const listener = await listen({ http: (_request, response) => response.end("an answer") });
    const client = await rawClient(listener);
    client.send("GET / HTTP/1.1\r\nhost: a\r\nexpect: 100-Continue\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    await client.closed;
    expect(client.received).to.match(/^HTTP\/1\.1 100 Continue\r\n/);
    expect(client.received.split("an answer")).to.have.length(3);
  });

  it("gives way to others after 64 requests", async () => {
    let inTurn = 0;
    let mostInTurn = 0;
    let answers = 0;
    const listener = await listen({
      http: (request, response) => {
        if (++inTurn === 1) setImmediate(() => (inTurn = 0));
        mostInTurn = Math.max(mostInTurn, inTurn);
        answers++;
        request.resume();
        response.end("an answer");
      },
    });
    const client = createConnection(listener.port, "127.0.0.1");
    afterwards(() => client.destroy());
    client.resume();
    // Of a chunk of 64 KB they are four: none is too many. Node reads 32 such chunks at once.
    const request = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 16000\r\n\r\n${"x".repeat(16_000)}`;
    for (let sent = 0; sent < 500; sent++) client.write(request);
    await eventually(() => answers === 500);
    expect(mostInTurn).to.be.within(1, 70);
  });

  it("is ended if its client takes nothing of an answer for too long, even if the client goes on sending", async () => {
    const dropped: DropReason[] = [];
    const clock = new ManualClock();
    const listener = await listen({
      http: (_request, response) => void response.write(Buffer.alloc(16_000_000)),
      stall: { timeoutMs: 800, clock },
      onDropped: (reason) => dropped.push(reason),
    });
    const client = createConnection(listener.port, "127.0.0.1");
    afterwards(() => client.destroy());
    client.on("error", () => undefined);
    client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(client, "readable");
    client.write("GET / HTTP/1.1\r\nx: ");
    await eventually(() => {
      client.write("x");
      clock.advance(100);
      return dropped.length > 0;
    });
    expect(dropped).to.deep.equal(["stalled"]);
    client.resume();
    await eventually(() => client.destroyed);
  });
});
