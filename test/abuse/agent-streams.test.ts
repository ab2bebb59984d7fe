import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { AttackedAgent, type AgentPort } from "./support/attacked-agent.js";
import { requestFrames, type HostilePeer, type RequestOptions } from "./support/hostile-peer.js";

const evaluation = "/flagd.evaluation.v1.Service";
const endedByMemory = 'bunting_agent_api_connections_ended_total{reason="memory"}';
const empty: RequestOptions = { message: Buffer.alloc(0) };

/** Streams that a peer can keep open, of which 9,000 ended the agent for lack of memory. */
const streams: readonly (readonly [what: string, port: AgentPort, path: string, request: RequestOptions])[] =
  [
    ["EventStream", "evaluation", `${evaluation}/EventStream`, empty],
    ["SyncFlags", "sync", "/flagd.sync.v1.FlagSyncService/SyncFlags", empty],
    ["unfinished requests", "evaluation", `${evaluation}/ResolveBoolean`, { endsStream: false }],
    ["health Watch", "management", "/grpc.health.v1.Health/Watch", empty],
  ];

describe("an agent whose peers open thousands of streams", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start()));
  afterEach(() => agent.stop());

  async function open(
    peer: HostilePeer,
    count: number,
    path: string,
    request: RequestOptions,
  ): Promise<void> {
    const frames = Array.from({ length: count }, () => requestFrames(peer.takeStreamId(), path, request));
    await peer.send(Buffer.concat(frames));
  }

  it("answers an ordinary burst: 2,000 evaluations at once on one connection", async () => {
    for (let round = 0; round < 3; round++)
      expect(await agent.failuresOf(2_000), `round ${round}`).to.equal(0);
    expect(await agent.metric(endedByMemory)).to.equal(0);
  });

  for (const [what, port, path, request] of streams) {
    it(`survives 13,500 of ${what}, and ends the greediest connections`, async () => {
      const peers: HostilePeer[] = [];
      for (let index = 0; index < 15; index++) {
        const peer = await agent.peer(port);
        peers.push(peer);
        await open(peer, 900, path, request);
      }
      await eventually(
        () => peers.filter(({ isClosed, goaway }) => isClosed || goaway !== undefined).length > 10,
        "the end of most connections",
      );
      await agent.isWell();
      expect(await agent.metric(endedByMemory)).to.be.above(10);
    });
  }

  it("survives 18,000 streams that 20 connections open at once", async () => {
    const peers = await Promise.all(
      Array.from({ length: 20 }, () => agent.peer("evaluation", { windowBytes: 0 })),
    );
    await Promise.all(peers.map((peer) => open(peer, 900, `${evaluation}/EventStream`, empty)));
    await eventually(
      () => peers.filter(({ isClosed }) => isClosed).length > 14,
      "the end of most connections",
    );
    await agent.isWell();
  });

  for (const contentType of ["application/grpc", "application/proto"]) {
    it(`makes few answers ahead for bursts of ResolveAll that are not read (${contentType})`, async () => {
      const peer = await agent.peer("evaluation", { windowBytes: 0 });
      const headers = { "content-type": contentType };
      const request = contentType === "application/grpc" ? { ...empty, headers } : { headers };
      for (let index = 0; index < 3 && !peer.isClosed; index++)
        await open(peer, 100, `${evaluation}/ResolveAll`, request);
      await eventually(() => peer.isClosed || peer.goaway !== undefined, "the end of the connection");
      await agent.isWell();
    });
  }
});
