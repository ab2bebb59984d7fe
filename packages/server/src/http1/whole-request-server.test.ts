import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createConnection, type Socket } from "node:net";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { resetSocket } from "@bunting/test/support/reset-socket.js";
import { seededRandom } from "@bunting/test/support/seeded-random.js";
import { expect } from "chai";
import { GrpcServer } from "@bunting/rpc";
import { PeerMemory } from "../limits/peer-memory.js";
import { ReadFairness } from "../limits/read-fairness.js";
import { PortListener } from "../port/port-listener.js";
import type { PortListenerOptions } from "../port/port-listener-options.js";
import {
  afterwards,
  eventually,
  recordingLogger,
  releaseAfterEach,
} from "@bunting/test/support/grpc-port.js";
import type { WholeRequest } from "./whole-request.js";
import type { WholeRequestHandler } from "./whole-request-server.js";

interface Seen {
  readonly target: string;
  readonly host: string;
  readonly body: string;
  readonly asked: string | undefined;
}

const echoOf = (seen: Seen): string => JSON.stringify(seen);

/** Answers as the handler below does. */
const listener: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const text = echoOf({
      target: request.url ?? "",
      host: request.headers.host ?? "",
      body: Buffer.concat(chunks).toString("latin1"),
      asked: request.headers["x-asked"] as string | undefined,
    });
    response.writeHead(200, { "content-type": "text/plain", "content-length": Buffer.byteLength(text) });
    response.end(text);
  });
};

interface Fast extends WholeRequestHandler {
  readonly answered: string[];
}

function fast(answer?: (request: WholeRequest) => string | undefined): Fast {
  const answered: string[] = [];
  return {
    answered,
    headerNames: ["x-asked"],
    maxBodyBytes: 4_096,
    answer: (request) => {
      const { target, host, body } = request;
      const text =
        answer === undefined
          ? echoOf({ target, host, body: body.toString("latin1"), asked: request.header("x-asked") })
          : answer(request);
      if (text === undefined) return undefined;
      answered.push(target);
      return { status: 200, headers: "content-type: text/plain\r\n", body: text };
    },
  };
}

async function serve(options: Partial<PortListenerOptions> = {}): Promise<PortListener> {
  const port = new PortListener({
    endpoint: { host: "127.0.0.1", port: 0 },
    logger: recordingLogger(),
    http: listener,
    ...options,
  });
  afterwards(() => port.close());
  await port.listen();
  return port;
}

interface Client {
  readonly socket: Socket;
  readonly received: () => string;
}

async function connect({ port }: PortListener): Promise<Client> {
  const socket = createConnection({ port, host: "127.0.0.1", noDelay: true });
  afterwards(() => socket.destroy());
  socket.on("error", () => undefined);
  let received = "";
  socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
  await once(socket, "connect");
  return { socket, received: () => received };
}

const request = (target: string, body = "{}", headers = ""): string =>
  `POST ${target} HTTP/1.1\r\nhost: a\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
const answers = ({ received }: Client): number => received().split("HTTP/1.1 200").length - 1;
const undated = (text: string): string => text.replace(/^Date: .*$/gm, "Date: …");

describe("the server of whole requests", () => {
  releaseAfterEach();

  it("answers one request after the other on a connection", async () => {
    const whole = fast();
    const client = await connect(await serve({ wholeRequests: whole }));
    for (const target of ["/1", "/2", "/3"]) {
      client.socket.write(request(target));
      await eventually(() => client.received().includes(`"${target}"`), target);
    }
    expect(whole.answered).to.deep.equal(["/1", "/2", "/3"]);
  });

  it("leaves a connection to node's server that sends anything else, and every request is answered once, in order", async () => {
    for (const [what, pieces] of Object.entries({
      pipelined: [request("/1"), request("/2") + request("/3"), request("/4")],
      "in pieces": [
        request("/1"),
        request("/2").slice(0, 20),
        request("/2").slice(20),
        request("/3"),
        request("/4"),
      ],
      "in single bytes": (request("/1") + request("/2") + request("/3") + request("/4")).match(/[^]/g) ?? [],
      "another method": [request("/1"), "GET /2 HTTP/1.1\r\nhost: a\r\n\r\n", request("/3"), request("/4")],
      declined: [request("/1"), request("/declined"), request("/3"), request("/4")],
    })) {
      const whole = fast(({ target, host, body }) =>
        target === "/declined"
          ? undefined
          : echoOf({ target, host, body: body.toString(), asked: undefined }),
      );
      const client = await connect(await serve({ wholeRequests: whole }));
      for (const piece of pieces) {
        client.socket.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await eventually(() => answers(client) === 4, `${what}: ${client.received()}`);
      const targets = [...client.received().matchAll(/"target":"([^"]*)"/g)].map(([, target]) => target);
      expect(targets, what).to.deep.equal(
        what === "declined" ? ["/1", "/declined", "/3", "/4"] : ["/1", "/2", "/3", "/4"],
      );
      expect(whole.answered.length, what).to.be.lessThan(3);
    }
  });

  it("ignores an empty line between two requests, and before the first", async () => {
    const whole = fast();
    const port = await serve({ wholeRequests: whole, headerTimeoutMs: 1 });
    const client = await connect(port);
    for (const target of ["/1", "/2"]) {
      client.socket.write("\r\n");
      // The line has been read by the time that a connection which came later has its answer.
      const later = await connect(port);
      later.socket.write(request("/later"));
      await eventually(() => answers(later) === 1);
      client.socket.write(request(target));
      await eventually(() => client.received().includes(`"${target}"`), target);
    }
    expect(whole.answered, "none was left to node's server").to.deep.equal(["/later", "/1", "/later", "/2"]);
    expect(client.received()).not.to.contain("408");
  });

  it("sends byte for byte what node's server sends, whatever it is sent and however that is cut", async function () {
    this.timeout(120_000);
    const whole = fast();
    // Both ports look for the preface of HTTP/2 first, so that node's server gets the first bytes in the same way.
    const grpc = new GrpcServer({ methods: [], logger: recordingLogger() });
    const [both, nodeOnly] = [await serve({ grpc, wholeRequests: whole }), await serve({ grpc })];
    const below = belowOf(seededRandom(20_261_125));
    const runs = Number(process.env["WHOLE_REQUEST_RUNS"] ?? 400);
    for (let run = 0; run < runs; run++) {
      const sent = randomRequests(below);
      const [one, other] = await Promise.all([both, nodeOnly].map((port) => exchange(port, sent)));
      expect(one, JSON.stringify(sent)).to.equal(other);
    }
    expect(whole.answered.length, "requests that took the fast way").to.be.greaterThan(runs / 10);
  });

  it("keeps a connection that is idle, before its first request too, and closes it without a word in the end", async () => {
    const refused: string[] = [];
    const memory = new PeerMemory(64 * 1024 * 1024, "idle");
    const onRefused = (reason: string): void => void refused.push(reason);
    const limits = { memory, wholeRequests: fast(), headerTimeoutMs: 40, onRefused };
    const [port, soon] = [await serve(limits), await serve({ ...limits, idleTimeoutMs: 400 })];
    const [idle, silent, ended] = [await connect(port), await connect(port), await connect(soon)];
    idle.socket.write(request("/1"));
    await eventually(() => answers(idle) === 1, "the answer");
    expect(idle.received()).to.match(/Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n/);
    await once(ended.socket, "close");
    expect(ended.received()).to.equal("");
    expect(refused).to.deep.equal([]);
    expect(idle.socket.destroyed).to.equal(false);
    silent.socket.write(request("/2"));
    await eventually(() => answers(silent) === 1, "the answer of the one that was silent");
    for (const { socket } of [idle, silent]) socket.destroy();
    await eventually(() => memory.bytes === 0, "the accounts of all to be closed");
  });

  it("gives a client as long after an answer that it was slow to read as after any other", async () => {
    const large = "x".repeat(8 * 1024 * 1024);
    const whole = fast(({ target }) => (target === "/large" ? large : "small"));
    const port = await serve({ wholeRequests: whole, headerTimeoutMs: 40 });
    /** As long as it takes to give up a client that has begun to ask. */
    const timeForHeaders = async (): Promise<void> => {
      const { socket } = await connect(port);
      socket.write("POST /1 HTTP/1.1\r\n");
      await once(socket, "close");
    };
    const client = await connect(port);
    client.socket.pause();
    client.socket.write(request("/large"));
    await eventually(() => whole.answered.length === 1, "the answer to be made");
    await timeForHeaders();
    client.socket.resume();
    await eventually(() => client.received().endsWith(large), "all of the answer");
    await timeForHeaders();
    client.socket.write(request("/small"));
    await eventually(() => answers(client) === 2, "the answer to the next request");
    expect(client.received().endsWith("small")).to.equal(true);
  });

  it("counts no time for a connection that is not read because the turn has had its work", async () => {
    const times = { idleTimeoutMs: 100 };
    const due: (() => void)[] = [];
    const turns = new ReadFairness({ perTurn: 1, afterTurn: (callback) => void due.push(callback) });
    const port = await serve({ ...times, turns, wholeRequests: fast() });
    const reader = { pauseForTurn: () => undefined, resumeAfterTurn: () => undefined };
    turns.enter(reader, "10.0.0.1").spend(10);
    const patient = await connect(port);
    patient.socket.write(request("/patient"));
    // As long as it takes to give up a client that says nothing.
    const silent = await connect(await serve({ ...times, wholeRequests: fast() }));
    await once(silent.socket, "close");
    expect(patient.received()).to.equal("");
    for (const callback of due.splice(0)) callback();
    await eventually(() => answers(patient) === 1, "the answer");
  });

  it("closes its connections when the port stops listening, and on close", async () => {
    for (const stop of ["stopListening", "close"] as const) {
      const port = await serve({ wholeRequests: fast() });
      const client = await connect(port);
      client.socket.write(request("/1"));
      await eventually(() => answers(client) === 1, "the answer");
      const closed = once(client.socket, "close");
      await port[stop]();
      await closed;
    }
  });

  it("charges an answer that its client does not read, and ends such clients when they hold too much", async () => {
    const memory = new PeerMemory(64 * 1024 * 1024, "idle", 4 * 1024 * 1024);
    const dropped: string[] = [];
    const large = "x".repeat(8 * 1024 * 1024);
    const whole = fast(() => large);
    const port = await serve({ wholeRequests: whole, memory, onDropped: (reason) => dropped.push(reason) });
    const before = memory.bytes;
    const socket = createConnection({ port: port.port, host: "127.0.0.1" });
    afterwards(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(request("/1"));
    await eventually(() => dropped.length === 1, "the client to be ended");
    await eventually(() => memory.bytes === before, "its account to be closed");
    expect(whole.answered).to.deep.equal(["/1"]);
  });

  it("ends a connection whose client takes nothing of an answer for too long", async () => {
    const dropped: string[] = [];
    const clock = new ManualClock();
    const whole = fast(() => "x".repeat(8 * 1024 * 1024));
    const stall = { timeoutMs: 800, clock };
    const port = await serve({ wholeRequests: whole, stall, onDropped: (reason) => dropped.push(reason) });
    const client = await connect(port);
    client.socket.pause();
    client.socket.write(request("/1"));
    await eventually(() => {
      clock.advance(100);
      return dropped.length > 0;
    }, "the client to be ended");
    expect(dropped).to.deep.equal(["stalled"]);
  });

  it("gives an account back with every connection, whichever way that ended", async () => {
    const memory = new PeerMemory(64 * 1024 * 1024, "idle");
    const port = await serve({ wholeRequests: fast(), memory });
    const clients = await Promise.all(Array.from({ length: 6 }, () => connect(port)));
    clients.forEach(({ socket }, i) =>
      socket.write(i % 2 === 0 ? request("/1") : request("/1") + request("/2")),
    );
    await eventually(() => clients.every((client, i) => answers(client) === 1 + (i % 2)), "all answers");
    expect(memory.bytes).to.be.greaterThan(0);
    clients.forEach(({ socket }, i) => (i < 3 ? resetSocket(socket) : socket.end()));
    await eventually(() => memory.bytes === 0, "all accounts to be closed");
  });

  it("ends the connection that has waited longest for a request when there is no room for another", async () => {
    const memory = new PeerMemory(10 * 24 * 1024, "idle");
    const port = await serve({ wholeRequests: fast(), memory });
    const first = await connect(port);
    const second = await connect(port);
    for (let i = 2; i < 10; i++) await connect(port);
    first.socket.write(request("/1"));
    await eventually(() => answers(first) === 1, "the answer");
    const ended = once(second.socket, "close");
    await connect(port);
    await ended;
    expect(first.socket.destroyed).to.equal(false);
  });
});

/** A number from 0 on, below this one. */
type Below = (limit: number) => number;

function belowOf(random: () => number): Below {
  return (limit) => Math.floor(random() * limit);
}

/** Pieces as they are written, each in a turn of its own. */
function randomRequests(below: Below): readonly string[] {
  let text = "";
  const count = 1 + below(3);
  for (let i = 0; i < count; i++) text += randomRequest(below);
  // Uncut: where a request is invalid, it matters to node's server too whether the system hands over two pieces at once.
  if (below(3) === 0) return [mutated(text, below)];
  if (below(2) === 0) return [text];
  const at = below(text.length);
  return [text.slice(0, at), text.slice(at)];
}

const headerChoices = [
  "x-asked: 1",
  "X-Asked: two words ",
  "connection: keep-alive",
  "Connection: close",
  "accept: */*",
  "Content-Type: application/json",
  "x-long: " + "y".repeat(200),
  "transfer-encoding: chunked",
  "expect: 100-continue",
  "host: b",
  "content-length: 3",
  "origin: http://a",
  "te: trailers",
];

function randomRequest(below: Below): string {
  const method = below(8) === 0 ? "PUT" : "POST";
  const body = "z".repeat(below(4) === 0 ? 0 : below(40));
  const headers = Array.from(
    { length: below(3) },
    () => headerChoices[below(below(3) === 0 ? headerChoices.length : 7)],
  );
  const lines = ["host: a", `content-length: ${body.length}`, ...headers];
  return `${method} /${below(100)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

function mutated(text: string, below: Below): string {
  const at = below(text.length);
  const insert = ["", " ", "\r\n", "\n", "\r", ":", "\0", "\x7f", "\xe9", "\t"][below(10)] ?? "";
  return text.slice(0, at) + insert + text.slice(at + below(2));
}

/** All that comes back until the connection is closed; the client closes its half after the last piece. */
async function exchange({ port }: PortListener, pieces: readonly string[]): Promise<string> {
  const socket = createConnection({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  socket.on("error", () => undefined);
  let received = "";
  socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await once(socket, "connect");
  for (const piece of pieces) {
    socket.write(Buffer.from(piece, "latin1"));
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  await closed;
  return undated(received);
}
