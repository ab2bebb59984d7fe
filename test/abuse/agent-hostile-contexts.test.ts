import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { useAgentInContainer } from "./support/agent-in-container.js";
import type { AgentPort } from "./support/attacked-agent.js";
import { connectTimes, writeAtOnce } from "./support/sockets-at-once.js";

const read = { var: "v" };
const numbers = Array.from({ length: 95_000 }, (_, index) => index);
const four = [0, 1, 2, 3];

interface Attack {
  readonly what: string;
  readonly rule: object;
  readonly value: unknown;
  readonly port: Extract<AgentPort, "ofrep" | "evaluation">;
  readonly connections: number;
}

const attacks: readonly Attack[] = [
  {
    what: "one list that a rule merges ten times, and gives as its result",
    rule: { merge: Array.from({ length: 10 }, () => read) },
    value: numbers,
    port: "ofrep",
    connections: 1,
  },
  {
    what: "400 lists that a rule merges twenty times",
    rule: { merge: Array.from({ length: 20 }, () => read) },
    value: numbers,
    port: "evaluation",
    connections: 400,
  },
  {
    what: "400 versions of half a million identifiers",
    rule: { sem_ver: [read, "=", "1.0.0"] },
    value: `1.0.0-${"1.".repeat(490_000)}1`,
    port: "evaluation",
    connections: 400,
  },
  {
    what: "a context that gives a branch a rule of 24,000 parts as its result",
    rule: { if: [true, read] },
    value: { and: Array.from({ length: 24_000 }, () => ({ in: [1, [1]] })) },
    port: "ofrep",
    connections: 20,
  },
  {
    what: "a context that gives a branch a path of 240,000 steps to read",
    rule: { if: [true, read] },
    value: { var: "a.".repeat(240_000) },
    port: "evaluation",
    connections: 20,
  },
  {
    what: "a list of large numbers that a rule makes a text of",
    rule: { cat: read },
    value: numbers.map(() => 1e308),
    port: "ofrep",
    connections: 1,
  },
  {
    what: "a list of which a rule makes lists of lists",
    rule: { map: [read, { map: [four, { filter: [four, true] }] }] },
    value: numbers,
    port: "ofrep",
    connections: 1,
  },
  {
    what: "a text that a rule makes fifty others of",
    rule: { merge: numbers.slice(0, 50).map((number) => ({ cat: [read, number] })) },
    value: "\u{4e2d}".repeat(320_000),
    port: "ofrep",
    connections: 1,
  },
];
const paths = {
  ofrep: "/ofrep/v1/evaluate/flags/attacked",
  evaluation: "/flagd.evaluation.v1.Service/ResolveBoolean",
};

describe("an agent in a container of 64 MiB whose rules take more memory than the contexts that they read", function () {
  const { agent, group } = useAgentInContainer();

  for (const { what, rule, value, port, connections } of attacks) {
    it(`answers ${what}`, async () => {
      const variants = { on: true, off: false };
      const on = { state: "ENABLED", variants, defaultVariant: "on" };
      await agent().edit({ on, attacked: { ...on, targeting: rule } }, (text) => text.includes('"attacked"'));
      const body = JSON.stringify({ flagKey: "attacked", context: { v: value } });
      const head = `POST ${paths[port]} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`;
      const request = Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      const sockets = await connectTimes(connections, agent().port(port));
      writeAtOnce(agent().pid, sockets, request);
      // What they ask for is computed, for which a busy machine takes longer.
      await eventually(
        () => sockets.every(({ destroyed }) => destroyed),
        "each is answered or ended",
        90_000,
      );
      expect(group().kills, "killed for its memory").to.equal(0);
      await agent().isWell();
    });
  }
});
