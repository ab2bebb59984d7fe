import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { AttackedAgent, flagBytes } from "./support/attacked-agent.js";
import { requestFrames } from "./support/hostile-peer.js";

const fetchAll = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";
const endedByMemory = 'bunting_agent_api_connections_ended_total{reason="memory"}';

/** An answer of FetchAllFlags holds all flags of the agent. */
describe("an agent whose peers fetch all flags", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start()));
  afterEach(() => agent.stop());

  function fetches(count: number, takeStreamId: () => number): Buffer {
    const request = { message: Buffer.alloc(0) };
    return Buffer.concat(
      Array.from({ length: count }, () => requestFrames(takeStreamId(), fetchAll, request)),
    );
  }

  it("holds one answer, however many calls have it unread", async () => {
    const peer = await agent.peer("sync", { windowBytes: 0 });
    await peer.send(fetches(500, () => peer.takeStreamId()));
    await agent.isWell(500 * flagBytes);
    expect(peer.isClosed).to.equal(false);
    expect(await agent.metric(endedByMemory)).to.equal(0);
  });

  it("answers a hundred at once on one connection", async () => {
    const peer = await agent.peer("sync", { windowBytes: 2 ** 31 - 1 });
    const windowOfConnection = Buffer.of(0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0);
    await peer.send(Buffer.concat([windowOfConnection, fetches(100, () => peer.takeStreamId())]));
    await eventually(() => peer.ended.size === 100, "a hundred answers");
    for (const bytes of peer.dataBytes.values()) expect(bytes).to.be.above(flagBytes);
    await agent.isWell(100 * flagBytes);
  });
});
