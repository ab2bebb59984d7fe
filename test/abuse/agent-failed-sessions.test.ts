import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { expect } from "chai";
import { preface } from "../../bench/load/http2-frames.js";
import { eventually } from "../support/event-queue.js";
import { useAgentInContainer } from "./support/agent-in-container.js";
import { writeAtOnce } from "./support/sockets-at-once.js";

const connections = 900;

describe("an agent in a container of 64 MiB whose peers send much with the preface of HTTP/2, and then what fails their connections", function () {
  const { agent, group } = useAgentInContainer();

  for (const bytes of [60_000, 300_000, 1_000_000])
    it(`holds little of it before it is handled, and while it is dropped: ${connections} times ${bytes} bytes`, async () => {
      // The first frame is not SETTINGS.
      const wrong = Buffer.concat([preface, Buffer.alloc(bytes)]);
      const port = agent().port("evaluation");
      const sockets = await Promise.all(Array.from({ length: connections }, () => connect(port)));
      writeAtOnce(agent().pid, sockets, wrong);
      await eventually(() => sockets.every(({ destroyed }) => destroyed), "each is ended");
      expect(group().kills, "killed for its memory").to.equal(0);
      await agent().isWell();
    });
});

async function connect(port: number): Promise<Socket> {
  const socket = createConnection({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
  socket.on("error", () => undefined).resume();
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}
