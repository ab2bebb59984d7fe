import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { frame, frameType, preface } from "../../bench/load/http2-frames.js";
import { AttackedAgent } from "./support/attacked-agent.js";
import { requestFrames } from "./support/hostile-peer.js";

/** What is read of a connection before it is known what it speaks: two chunks of 64 KB. */
const burstBytes = 130_000;
const opening = Buffer.concat([preface, frame(frameType.settings, 0, 0, Buffer.alloc(0))]);
const evaluation = "/flagd.evaluation.v1.Service/ResolveBoolean";

/** As many requests as fit. */
function burstOf(first: Buffer, request: (index: number) => Buffer): Buffer {
  const parts = [first];
  for (let bytes = 0, index = 0; bytes < burstBytes; index++) {
    const next = request(index);
    parts.push(next);
    bytes += next.length;
  }
  return Buffer.concat(parts);
}

const bursts: Readonly<Record<string, Buffer>> = {
  "gRPC with long headers": burstOf(opening, (index) =>
    requestFrames(2 * index + 1, evaluation, {
      headers: { "x-long": "x".repeat(3_000) },
      message: Buffer.alloc(0),
    }),
  ),
  "JSON over HTTP/1.1": burstOf(Buffer.alloc(0), () =>
    Buffer.from(
      `POST ${evaluation} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 16\r\n\r\n{"flagKey":"on"}`,
    ),
  ),
};

interface Attack {
  readonly pid: number;
  readonly port: number;
  readonly connections: number;
  readonly burst: Buffer;
}

/** Connects so often, and sends the burst over all connections. The process stands still meanwhile: it finds all of it at once. */
async function attack(sockets: Socket[], { pid, port, connections, burst }: Attack): Promise<void> {
  const own = Array.from({ length: connections }, () =>
    createConnection({ port, host: "127.0.0.1", localAddress: "127.0.0.2" }).on("error", () => undefined),
  );
  sockets.push(...own);
  await Promise.all(own.map((socket) => Promise.race([once(socket, "connect"), once(socket, "close")])));
  process.kill(pid, "SIGSTOP");
  try {
    for (const socket of own) socket.resume().write(burst);
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

describe("hundreds of connections that send much at once, as soon as they are open", () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  for (const [what, burst] of Object.entries(bursts)) {
    it(`are read by an agent as it comes to them, and hold little before (${what})`, async () => {
      const agent = await AttackedAgent.start();
      try {
        const connections = 1_000;
        await attack(sockets, { pid: agent.pid, port: agent.port("evaluation"), connections, burst });
        await agent.isWell(connections * burstBytes);
      } finally {
        for (const socket of sockets) socket.destroy();
        await agent.stop();
      }
    });
  }
});
