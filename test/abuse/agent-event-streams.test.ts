import { once } from "node:events";
import type { Socket } from "node:net";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { AttackedAgent, push } from "./support/attacked-agent.js";
import type { HostilePeer } from "./support/hostile-peer.js";

const service = "/flagd.evaluation.v1.Service";
const endedByMemory = 'bunting_agent_api_connections_ended_total{reason="memory"}';
/** More than the memory for peers has room for. */
const attackers = 500;

type Port = "evaluation" | "ofrep";

const http1 = (head: string, body: string): Buffer =>
  Buffer.from(`${head} HTTP/1.1\r\nhost: agent\r\n${body === "" ? "\r\n" : body}`, "latin1");
const post = (contentType: string, body: string): Buffer =>
  http1(
    `POST ${service}/EventStream`,
    `content-type: ${contentType}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );

/** A stream of events in each protocol, and what is sent before it. */
const streams: readonly (readonly [protocol: string, port: Port, request: Buffer])[] = [
  ["OFREP", "ofrep", http1("GET /ofrep/v1/sse", "")],
  ["Connect", "evaluation", post("application/connect+json", "\0\0\0\0\x02{}")],
  ["gRPC-Web", "evaluation", post("application/grpc-web+proto", "\0\0\0\0\0")],
  ["gRPC-Web in text", "evaluation", post("application/grpc-web-text", "AAAAAAA=")],
];

describe("an agent whose peers hold an event stream on each of hundreds of connections", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start("--ofrep-sse-enabled")));
  afterEach(() => agent.stop());

  async function open(port: Port, request: Buffer, localAddress?: string): Promise<Socket> {
    const socket = await agent.connect(port, localAddress);
    const begun = Promise.race([once(socket, "readable"), once(socket, "close")]);
    await push(socket, request);
    await begun;
    return socket;
  }

  async function openGrpc(localAddress?: string): Promise<HostilePeer> {
    const peer = await agent.peer("evaluation", localAddress === undefined ? {} : { localAddress });
    await peer.request(`${service}/EventStream`, { message: Buffer.alloc(0) });
    return peer;
  }

  /** The first try of a client that is not connected yet. */
  async function newClientsAreAnswered(): Promise<void> {
    const response = await fetch(agent.url("ofrep", "/ofrep/v1/evaluate/flags/on"), {
      method: "POST",
      headers: { connection: "close" },
    });
    expect(response.status, "over HTTP/1.1").to.equal(200);
    const peer = await agent.peer("evaluation");
    const id = await peer.request(`${service}/ResolveBoolean`, { message: Buffer.from("0a026f6e", "hex") });
    await eventually(() => peer.ended.has(id) || peer.isClosed, "an answer over gRPC");
    expect(peer.dataBytes.get(id) ?? 0, "over gRPC").to.be.above(0);
  }

  for (const [protocol, port, request] of streams) {
    it(`answers new clients, with streams of ${protocol} that are not read`, async () => {
      for (let index = 0; index < attackers; index++) await open(port, request);
      await newClientsAreAnswered();
      await agent.isWell();
      expect(await agent.metric(endedByMemory)).to.be.above(0);
    });
  }

  for (const [protocol, port, request] of streams.filter(([, at]) => at === "evaluation")) {
    it(`holds one event of many flags for all streams of ${protocol}, which are not read`, async () => {
      const held = 250;
      for (let index = 0; index < held; index++) await open(port, request);
      const on = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };
      const keys = Array.from({ length: 5_000 }, (_, index) => `flag-${index}-${"x".repeat(60)}`);
      const many = Object.fromEntries(keys.map((key) => [key, { ...on, variants: { on: true } }]));
      await agent.edit({ on, ...many }, (text) => text.includes("flag-4999-"));
      await agent.isWell(held * keys.join("").length);
    });
  }

  it("answers new clients, with streams of gRPC that are not read", async () => {
    for (let index = 0; index < attackers; index++) await openGrpc();
    await newClientsAreAnswered();
    await agent.isWell();
  });

  it("ends the streams of the address that holds the most, not those of others", async () => {
    const honest: (readonly [string, Socket])[] = [];
    for (const [protocol, port, request] of streams) honest.push([protocol, await open(port, request)]);
    honest.push(["gRPC", (await openGrpc()).socket]);
    const ended = honest.map(([protocol, socket]) =>
      once(socket.resume(), "close").then(() => expect.fail(`${protocol} was ended`)),
    );
    const attack = async (): Promise<void> => {
      for (let index = 0; index < attackers; index++)
        for (const [, port, request] of streams.slice(index % 3, (index % 3) + 1))
          await open(port, request, "127.0.0.2");
      await newClientsAreAnswered();
      await agent.isWell();
    };
    await Promise.race([attack(), ...ended]);
    for (const one of ended) one.catch(() => undefined);
  });
});
