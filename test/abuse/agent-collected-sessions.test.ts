import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect } from "chai";
import { frame, frameFlag, frameType, preface, settingsAck } from "../../bench/load/http2-frames.js";
import { proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { collectsOften } from "./support/collects-often.js";
import { literalHeader } from "./support/hostile-peer.js";

const sources = 10;
const continuation = 0x9;
const status = literalHeader(":status", "200");
const header = literalHeader("x-header", "y".repeat(1_000));

/** What a server can send of a response's headers without ending them. */
const unfinished = {
  "more CONTINUATION frames than nghttp2 takes": (streamId: number) => [
    frame(frameType.headers, 0, streamId, status),
    ...Array.from({ length: 20 }, () => frame(continuation, 0, streamId, header)),
  ],
  "a reset in the middle of them": (streamId: number) => [
    frame(frameType.headers, 0, streamId, Buffer.concat([status, header])),
    frame(frameType.rstStream, 0, streamId, Buffer.of(0, 0, 0, 8)),
  ],
};

/** Node aborts when it collects a session before a stream that holds headers of it. */
describe("an agent's sessions that are collected", () => {
  let server: Server;
  let agent: AgentProcess;
  let requests: number;
  const sockets = new Set<Socket>();

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    expect(await agent.process.stop(), agent.process.output.slice(-2_000)).to.equal(0);
  });

  async function start(answer: (streamId: number) => readonly Buffer[]): Promise<void> {
    requests = 0;
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
      answerRequests(socket, (streamId) => {
        requests++;
        socket.write(Buffer.concat(answer(streamId)));
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const topics = Array.from({ length: sources }, (_, index) => `default/flags-${index}`);
    agent = await startAgent(proxySources(address, ...topics), { env: { NODE_OPTIONS: collectsOften } });
  }

  for (const [what, answer] of Object.entries(unfinished)) {
    it(`survives ${what}`, async () => {
      await start(answer);
      // One of each source: Node 20 reads nothing more of such a connection, so the next comes when a PING is not answered.
      await eventually(() => requests >= sources || agent.process.words.length > 0, "attempts");
      // Each makes the process collect.
      for (let scrape = 0; scrape < 20; scrape++) await fetch(`${agent.management}/healthz`);
      expect(agent.process.words.join("\n")).not.to.match(/Assertion failed/);
    });
  }
});

/** Calls back for the HEADERS of each request, and acknowledges the client's SETTINGS. */
function answerRequests(socket: Socket, onRequest: (streamId: number) => void): void {
  let unread: Buffer = Buffer.alloc(0);
  let isOpen = false;
  socket.on("data", (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    if (!isOpen) {
      if (unread.length < preface.length) return;
      unread = unread.subarray(preface.length);
      isOpen = true;
      socket.write(frame(frameType.settings, 0, 0, Buffer.alloc(0)));
    }
    while (unread.length >= 9) {
      const end = 9 + unread.readUIntBE(0, 3);
      if (unread.length < end) return;
      const [type, flags] = [unread[3], unread[4] ?? 0];
      const streamId = unread.readUInt32BE(5);
      unread = unread.subarray(end);
      if (type === frameType.settings && (flags & frameFlag.ack) === 0) socket.write(settingsAck);
      if (type === frameType.headers) onRequest(streamId);
    }
  });
}
