import type { Socket } from "node:net";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { AttackedAgent, push } from "./support/attacked-agent.js";

const connections = 100;
const refused = 'bunting_agent_api_requests_refused_total{reason="small_pieces"}';

/** Bare node answers a probe among them after several seconds, and reads on as long as they send. packages/rpc counts the chunks of a turn in its tests. */
describe("an agent whose peers send bodies in chunks of one byte", () => {
  let agent: AttackedAgent;
  beforeEach(async () => {
    agent = await AttackedAgent.start();
  });
  afterEach(() => agent.stop());

  for (const [port, path] of [
    ["ofrep", "/ofrep/v1/evaluate/flags/on"],
    ["evaluation", "/flagd.evaluation.v1.Service/ResolveBoolean"],
    ["management", "/metrics"],
  ] as const)
    it(`ends their connections to the port of ${port}, and answers probes in between`, async () => {
      const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
      const chunks = "1\r\nx\r\n".repeat(10_000);
      let open = connections;
      const attack = async (): Promise<void> => {
        const socket = await agent.connect(port, "127.0.0.2");
        // Not events.once, which would reject on a reset.
        const closed = new Promise<void>((resolve) => {
          if (socket.destroyed) resolve();
          else socket.resume().once("close", resolve);
        });
        await push(socket, head);
        // Far less than the largest body that is read.
        for (let sent = 0; sent < 30 && !socket.destroyed; sent++) await push(socket, chunks);
        await closed;
        open--;
      };
      const attacks = Promise.all(Array.from({ length: connections }, attack));
      while (open > 0) {
        const headers = { connection: "close" };
        expect((await fetch(agent.url("management", "/healthz"), { headers })).status).to.equal(200);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await attacks;
      await eventually(async () => (await agent.metric(refused, 0)) >= connections / 2, "most are counted");
      await agent.isWell();
    });

  /** Many pieces in one turn are refused sooner. */
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

  it("keeps nothing of those that it has refused, while it waits for their clients to go", async () => {
    const head =
      "POST /flagd.evaluation.v1.Service/ResolveBoolean HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    const [rounds, atOnce] = [4, 40];
    for (let round = 1; round <= rounds; round++) {
      const sockets = await Promise.all(
        Array.from({ length: atOnce }, async () => {
          const socket = await agent.connect("evaluation");
          socket.write(head + "1\r\nx\r\n".repeat(20_000));
          return socket;
        }),
      );
      const refusals = atOnce * round;
      await eventually(async () => (await agent.metric(refused, 0)) >= refusals, `${refusals} refusals`);
      for (const socket of sockets) socket.destroy();
    }
    await agent.isWell();
  });

  it("is not filled by them where they wait behind an answer that does not end", async () => {
    const stream =
      "POST /flagd.evaluation.v1.Service/EventStream HTTP/1.1\r\nhost: a\r\ncontent-type: application/connect+json\r\ncontent-length: 7\r\n\r\n\0\0\0\0\x02{}";
    const inChunks =
      "POST /flagd.evaluation.v1.Service/ResolveBoolean HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" +
      `${"1\r\nx\r\n".repeat(4_000)}0\r\n\r\n`;
    const attack = async (): Promise<Socket> => {
      const socket = await agent.connect("evaluation");
      await push(socket, stream);
      for (let waiting = 0; waiting < 31 && !socket.destroyed; waiting++) {
        await pause();
        await push(socket, inChunks);
      }
      return socket;
    };
    await Promise.all(Array.from({ length: 3 }, attack));
    await agent.isWell();
  });
});
