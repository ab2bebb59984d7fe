import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { testScale } from "../support/scale.js";
import { useAgentInContainer } from "./support/agent-in-container.js";
import type { AgentPort } from "./support/attacked-agent.js";
import { connectTimes, writeAtOnce } from "./support/sockets-at-once.js";

const content = `{"context":{"text":"${"x".repeat(900_000)}"}}`;
const chunkBytes = 16 * 1024;

/** A request in two parts: its head and a byte of its body, and all the rest. */
type Shape = (start: string) => readonly [first: string, rest: string];

const plain: Shape = (start) => [
  `${start}content-length: ${content.length}\r\n\r\n${content.slice(0, 1)}`,
  content.slice(1),
];
const chunked: Shape = (start) => {
  const chunks = content.slice(1).match(new RegExp(`.{1,${chunkBytes}}`, "gs")) ?? [];
  const rest = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
  return [`${start}transfer-encoding: chunked\r\n\r\n1\r\n${content.slice(0, 1)}\r\n`, `${rest}0\r\n\r\n`];
};
const whole =
  (shape: Shape): Shape =>
  (start) => ["", shape(start).join("")];

interface Attack {
  readonly what: string;
  readonly connections: number;
  readonly port: Extract<AgentPort, "ofrep" | "evaluation" | "management">;
  readonly shape: Shape;
  /** Only in nightly runs: it is like another one, or held before. */
  readonly isMore?: boolean;
}

const attacks: readonly Attack[] = [
  { what: "150 bodies over OFREP", connections: 150, port: "ofrep", shape: plain },
  { what: "400 bodies over OFREP", connections: 400, port: "ofrep", shape: plain, isMore: true },
  { what: "150 bodies over OFREP in chunks", connections: 150, port: "ofrep", shape: chunked, isMore: true },
  { what: "400 bodies over OFREP in chunks", connections: 400, port: "ofrep", shape: chunked },
  { what: "400 requests over OFREP", connections: 400, port: "ofrep", shape: whole(plain) },
  { what: "400 bodies over Connect", connections: 400, port: "evaluation", shape: plain },
  { what: "400 requests over Connect", connections: 400, port: "evaluation", shape: whole(chunked) },
  {
    what: "400 bodies that nobody reads",
    connections: 400,
    port: "management",
    shape: whole(plain),
    isMore: true,
  },
];
const paths = {
  ofrep: "/ofrep/v1/evaluate/flags/on",
  evaluation: "/flagd.evaluation.v1.Service/ResolveBoolean",
  management: "/healthz",
};

describe("an agent in a container of 64 MiB that gets all at once", function () {
  const { agent, group } = useAgentInContainer();

  for (const { what, connections, port, shape, isMore = false } of attacks) {
    if (isMore && testScale === "gate") continue;
    it(`${what} of 0.9 MB is not killed, and answers others`, async () => {
      const start = `POST ${paths[port]} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`;
      const [first, rest] = shape(start);
      const sockets = await connectTimes(connections, agent().port(port));
      if (first !== "") {
        for (const socket of sockets) socket.write(first);
        const ended = (): number => sockets.filter(({ destroyed }) => destroyed).length;
        const begun = async (): Promise<number> => (await agent().activeRequests()) + ended();
        // Some are ended to make room for others.
        await eventually(async () => (await begun()) >= connections, "each has begun or is ended");
      }
      const bytes = Buffer.from(rest);
      writeAtOnce(agent().pid, sockets, bytes);
      await eventually(() => sockets.every(({ destroyed }) => destroyed), "each is answered or ended");
      expect(group().kills, "killed for its memory").to.equal(0);
      await agent().isWell();
    });
  }
});
