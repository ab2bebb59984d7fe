import { once } from "node:events";
import { expect } from "chai";
import { dataFrame } from "../../bench/load/http2-frames.js";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import { AttackedAgent, flagBytes, push, type AgentPort } from "./support/attacked-agent.js";
import { requestFrames, type HostilePeer } from "./support/hostile-peer.js";

const service = "/flagd.evaluation.v1.Service";
const endedByTime = 'bunting_agent_api_requests_refused_total{reason="request_timeout"}';
const endedByMemory = 'bunting_agent_api_connections_ended_total{reason="memory"}';
const endedByHeaders = 'bunting_agent_api_connections_ended_total{reason="headers"}';

const bulkAnswers =
  'http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200",http_route="/ofrep/v1/evaluate/{path:flags\\\\/|flags}",service_name="flagd",url_scheme="http"}';

/** Connections that send nothing: far more than are held. */
const silent = scaled(10_000, 4_000);

interface Endpoint {
  readonly port: AgentPort;
  readonly path: string;
  readonly bulkPath: string;
}

const endpoints: Readonly<Record<string, Endpoint>> = {
  OFREP: { port: "ofrep", path: "/ofrep/v1/evaluate/flags/on", bulkPath: "/ofrep/v1/evaluate/flags" },
  Connect: { port: "evaluation", path: `${service}/ResolveBoolean`, bulkPath: `${service}/ResolveAll` },
};

function post(path: string, contentLength: number): string {
  return `POST ${path} HTTP/1.1\r\nhost: agent\r\ncontent-type: application/json\r\ncontent-length: ${contentLength}\r\n\r\n`;
}

/** What peers can do to the agent's ports over HTTP, with the heap that it has in its image. */
describe("an agent whose peers abuse HTTP", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start()));
  afterEach(() => agent.stop());

  for (const [protocol, { port, path, bulkPath }] of Object.entries(endpoints)) {
    it(`holds few bodies of ${protocol} that do not arrive whole`, async () => {
      const body = Buffer.alloc(900_000, " ");
      for (let index = 0; index < 120; index++) {
        const socket = await agent.connect(port);
        await push(socket, post(path, 990_000));
        await push(socket, body);
      }
      await agent.isWell(120 * body.length);
      expect(await agent.metric(endedByMemory)).to.be.above(0);
    });

    it(`makes no answers of ${protocol} ahead for a peer that pipelines requests and does not read`, async () => {
      for (let index = 0; index < 6; index++) {
        const socket = await agent.connect(port);
        await push(socket, `${post(bulkPath, 2)}{}`.repeat(200));
      }
      await agent.isWell(6 * 200 * flagBytes);
    });
  }

  it("holds few answers that are not read over HTTP/2", async () => {
    const peer = await agent.peer("evaluation", { windowBytes: 0 });
    for (let index = 0; index < 200 && !peer.isClosed; index++) {
      const id = peer.takeStreamId();
      const headers = { "content-type": "application/json" };
      const request = requestFrames(id, `${service}/ResolveAll`, { headers, endsStream: false });
      await peer.send(Buffer.concat([request, dataFrame(id, Buffer.from("{}"), true)]));
    }
    await eventually(() => peer.isClosed, "the end of the connection");
    await agent.isWell(200 * flagBytes);
  });

  it("holds few requests over HTTP/2 whose bodies do not come", async () => {
    const peers: HostilePeer[] = [];
    for (let index = 0; index < 15; index++) {
      const peer = await agent.peer("evaluation");
      peers.push(peer);
      const headers = { "content-type": "application/json" };
      const requests = Array.from({ length: 900 }, () =>
        requestFrames(peer.takeStreamId(), `${service}/ResolveBoolean`, { headers, endsStream: false }),
      );
      await peer.send(Buffer.concat(requests));
    }
    await eventually(
      () => peers.filter(({ isClosed }) => isClosed).length > 10,
      "the end of most connections",
    );
    await agent.isWell();
  });

  it("holds few headers that do not end", async () => {
    const headers = `POST /ofrep/v1/evaluate/flags HTTP/1.1\r\nhost: agent\r\n${`x: ${"a".repeat(8_000)}\r\n`.repeat(115)}`;
    const sockets = [];
    for (let index = 0; index < 100; index++) {
      const socket = await agent.connect("ofrep");
      void push(socket, headers);
      sockets.push(socket);
    }
    await eventually(async () => (await agent.metric(endedByHeaders)) > 60, "most to be refused");
    await agent.isWell(100 * headers.length);
  });

  for (const [what, beginning] of [
    ["heads", "GET / HTTP/1.1\r\nhost: agent\r\n"],
    [
      "trailers",
      "POST /x HTTP/1.1\r\nhost: agent\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
    ],
  ] as const)
    it(`survives ${what} of hundreds of small headers that do not end`, async () => {
      const headers =
        beginning + Array.from({ length: 950 }, (_, index) => `h${index}:v${index}\r\n`).join("");
      const untilMs = performance.now() + 5_000;
      const attack = async (): Promise<void> => {
        while (performance.now() < untilMs) {
          const socket = await agent.connect("evaluation", "127.0.0.2");
          await push(socket, headers);
          for (let waited = 0; waited < 40 && !socket.destroyed && performance.now() < untilMs; waited++)
            await new Promise((resolve) => setTimeout(resolve, 50));
          socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: 600 }, attack));
      await agent.isWell();
    });

  it("closes a connection that sends hundreds of requests ahead", async () => {
    const socket = await agent.connect("ofrep");
    socket.resume();
    await push(socket, "GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(2_000));
    await eventually(() => socket.destroyed || socket.readableEnded, "the end of the connection");
    await agent.isWell();
  });

  for (const port of scaled(["evaluation", "management"] as const, ["evaluation"] as const))
    it(`survives ${silent} connections to the port of ${port} that say nothing, all within the time that they have`, async () => {
      for (let opened = 0; opened < silent; opened += 500)
        await Promise.all(Array.from({ length: 500 }, () => agent.connect(port, "127.0.0.2")));
      // It would hold all of them for the time that they have: its heap has no room for ten thousand on Node 24.
      // A machine that takes longer than this time to open them all sees the first ones end by it.
      const mostAreEnded = async (): Promise<boolean> =>
        (await agent.metric(endedByMemory)) + (await agent.metric(endedByTime)) > silent / 2;
      await eventually(mostAreEnded, "the end of most");
      expect(await agent.metric(endedByMemory)).to.be.above(0);
      await agent.isWell();
    }).timeout(240_000);

  it("makes room for new connections by closing the one that has been idle for longest", async () => {
    const sockets = [];
    for (let index = 0; index < 2_000; index++) sockets.push(await agent.connect("ofrep"));
    await agent.isWell();
    expect(await agent.metric(endedByMemory)).to.be.above(500);
  });

  it("lets a new client of gRPC in, whatever connections without a request are held", async () => {
    for (let index = 0; index < 1_000; index++)
      if (index % 2 === 0) await agent.peer("evaluation");
      else await agent.connect("ofrep");
    const late = await agent.peer("evaluation");
    const id = await late.request(`${service}/ResolveBoolean`, { message: Buffer.from("0a026f6e", "hex") });
    await eventually(() => late.dataBytes.has(id), "an answer to the new client");
    await agent.isWell();
  });

  it("answers an evaluation before hundreds of bulk evaluations that came earlier", async () => {
    const bulk = Array.from({ length: 200 }, () => agent.connect("ofrep"));
    const sockets = await Promise.all(bulk);
    const honest = await agent.connect("ofrep");
    const ask = `${post("/ofrep/v1/evaluate/flags/on", 2)}{}`;
    // Node accepts connections one by one.
    await push(honest, ask);
    await once(honest.resume(), "data");
    for (const socket of sockets) void push(socket, `${post("/ofrep/v1/evaluate/flags", 2)}{}`);
    const answer = once(honest, "data");
    await push(honest, ask);
    await answer;
    expect(await agent.metric(bulkAnswers, 0), "answers before it").to.be.below(100);
    await agent.isWell();
  });

  it("serves the management port while the budget of the others is used up", async () => {
    for (let index = 0; index < 1_000; index++) await agent.peer("evaluation");
    expect((await fetch(agent.url("management", "/readyz"))).status).to.equal(200);
  });
});
