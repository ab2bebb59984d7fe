import { IncomingMessage, type RequestListener } from "node:http";
import { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "chai";
import { ReadFairness } from "../limits/read-fairness.js";
import type { PortListener } from "../port/port-listener.js";
import {
  afterwards,
  eventually,
  listen,
  rawClient,
  releaseAfterEach,
} from "@bunting/test/support/grpc-port.js";
import type { RefusalReason } from "@bunting/http2/status";
import { BodyPieces, isWatched } from "./body-pieces.js";

const head = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
const chunks = (count: number, text = "x"): string =>
  `${text.length.toString(16)}\r\n${text}\r\n`.repeat(count);
const end = "0\r\n\r\n";

describe("a chunked body over HTTP/1.1", () => {
  releaseAfterEach();

  let refused: RefusalReason[];
  let bodies: string[];
  beforeEach(() => {
    refused = [];
    bodies = [];
  });

  const keepBody: RequestListener = (request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => (body += piece.toString()));
    request.on("end", () => {
      bodies.push(body);
      response.end("an answer");
    });
  };

  function serve(http: RequestListener = keepBody): Promise<PortListener> {
    return listen({ http, onRefused: (reason) => refused.push(reason) });
  }

  it("is taken in thousands of small chunks", async () => {
    const client = await rawClient(await serve());
    client.send(head + chunks(4_000) + end + head + chunks(10_000, "y".repeat(40)) + end);
    await eventually(() => bodies.length === 2, "both bodies");
    expect(bodies).to.deep.equal(["x".repeat(4_000), "y".repeat(400_000)]);
    expect(refused).to.deep.equal([]);
  });

  it("is refused if there is hardly a byte in each of its chunks", async () => {
    const client = await rawClient(await serve());
    client.send(head + chunks(50_000));
    await client.closed;
    expect(client.received).to.match(/^HTTP\/1\.1 400 [^]*too many small chunks: send it in larger ones/);
    expect(refused).to.deep.equal(["small_pieces"]);
    expect(bodies).to.deep.equal([]);
  });

  it("is refused too if nobody reads it", async () => {
    const client = await rawClient(await serve((_request, response) => void response.end("an answer")));
    client.send(head);
    await eventually(() => client.received.includes("an answer"), "the answer");
    client.send(chunks(50_000));
    await client.closed;
    expect(refused).to.deep.equal(["small_pieces"]);
    expect(client.received).not.to.contain("400");
  });

  it("is not answered in place of the request before it", async () => {
    let answer: (() => void) | undefined;
    const listener = await serve((request, response) => {
      request.resume();
      answer = () => response.end("too late");
    });
    const client = await rawClient(listener);
    client.send(`GET / HTTP/1.1\r\nhost: a\r\n\r\n${head}${chunks(50_000)}`);
    await client.closed;
    expect(refused).to.deep.equal(["small_pieces"]);
    expect(client.received).to.equal("");
    answer?.();
  });

  it("arrives whole on connections that come after a refused one", async () => {
    const listener = await serve();
    for (let round = 0; round < 3; round++) {
      const hostile = await rawClient(listener);
      hostile.send(head + chunks(50_000));
      await hostile.closed;
      await eventually(() => refused.length === round + 1, "the refusal");
      const next = await rawClient(listener);
      next.send(head + chunks(3, "abc") + end);
      await eventually(() => bodies.length === round + 1, "the next body");
    }
    expect(bodies).to.deep.equal(Array(3).fill("abcabcabc"));
  });
});

describe("BodyPieces", () => {
  let refused: IncomingMessage[];
  let due: (() => void)[];
  let turns: ReadFairness;

  beforeEach(async () => {
    refused = [];
    due = [];
    turns = new ReadFairness({ afterTurn: (callback) => void due.push(callback) });
    // What other tests have left of the count of this turn.
    await nextTurn();
    await nextTurn();
  });

  function connection(): BodyPieces {
    const socket = new Socket();
    afterwards(() => socket.destroy());
    const pieces = new BodyPieces(socket, turns, (request) => refused.push(request));
    pieces.begin();
    return pieces;
  }

  /** A request of the connection, of whose body some has come. */
  function bodyOf(pieces: BodyPieces, count: number): IncomingMessage {
    const request = new IncomingMessage(new Socket()).resume();
    request.headers["transfer-encoding"] = "chunked";
    pieces.watch(request);
    for (let pushed = 0; pushed < count; pushed++) request.push(Buffer.from("x"));
    return request;
  }

  releaseAfterEach();

  it("gives way to other connections after some thousand pieces", () => {
    const pieces = connection();
    bodyOf(pieces, 2_000);
    expect(pieces.isPaused).to.equal(false);
    bodyOf(pieces, 200);
    expect(pieces.isPaused).to.equal(true);
    for (const callback of due.splice(0)) callback();
    expect(pieces.isPaused).to.equal(false);
  });

  it("gives way to other connections after half a megabyte of a body that is not chunked, too", () => {
    const pieces = connection();
    const request = new IncomingMessage(new Socket()).resume();
    request.headers["content-length"] = String(1_000_000);
    expect(isWatched(request)).to.equal(true);
    pieces.watch(request);
    for (let pushed = 0; pushed < 8; pushed++) request.push(Buffer.alloc(64 * 1024));
    expect(pieces.isPaused).to.equal(false);
    request.push(Buffer.alloc(64 * 1024));
    expect(pieces.isPaused).to.equal(true);
  });

  it("has less patience in a turn that has had many pieces already", async () => {
    bodyOf(connection(), 4_000);
    bodyOf(connection(), 4_000);
    expect(refused).to.deep.equal([]);
    bodyOf(connection(), 200);
    expect(refused).to.deep.equal([]);
    const hostile = bodyOf(connection(), 300);
    expect(refused).to.deep.equal([hostile]);
    await nextTurn();
    await nextTurn();
    bodyOf(connection(), 300);
    expect(refused).to.deep.equal([hostile]);
  });

  it("reads nothing more after a refusal, whoever asks for it", () => {
    const pieces = connection();
    const request = bodyOf(pieces, 5_000);
    expect(refused).to.deep.equal([request]);
    for (const callback of due.splice(0)) callback();
    expect(pieces.isPaused).to.equal(true);
    expect(request.push(Buffer.from("x"))).to.equal(false);
    expect(refused).to.have.length(1);
  });
});
