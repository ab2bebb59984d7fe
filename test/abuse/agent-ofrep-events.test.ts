import type { Socket } from "node:net";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { AttackedAgent } from "./support/attacked-agent.js";

describe("an agent whose peers open OFREP event streams that they do not read", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start("--ofrep-sse-enabled")));
  afterEach(() => agent.stop());

  it("survives 2,000 with invented selectors, and keeps nothing of those that have gone", async () => {
    const sockets: Socket[] = [];
    for (let at = 0; at < 2_000; at++) {
      const socket = await agent.connect("ofrep");
      socket.write(`GET /ofrep/v1/sse?selector=source%3Dinvented-${at} HTTP/1.1\r\nHost: agent\r\n\r\n`);
      sockets.push(socket);
    }
    await eventually(async () => (await openStreams(agent.management)) > 0, "streams are open");
    await agent.isWell();
    for (const socket of sockets) socket.destroy();
    await eventually(async () => (await openStreams(agent.management)) === 0, "no stream is left");
    await agent.isWell();
    expect(await agent.metric("bunting_agent_api_peer_memory_bytes")).to.be.below(1_000_000);
  });
});

async function openStreams(management: string): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  return Number(/^http_server_active_requests\{[^}]*"\/ofrep\/v1\/sse"[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0);
}
