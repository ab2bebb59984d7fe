import { createConnection, type Socket } from "node:net";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { Authority } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";
import { mebibyte, Vitals } from "./support/vitals.js";

const warmUp = 100;
const connections = 700;
const recordBytes = 16 * 1024;

/** A ClientHello of 128 KB but for its end, in eight records of TLS. */
const hello = Buffer.concat(
  Array.from({ length: 8 }, () => {
    const record = Buffer.alloc(5 + recordBytes, 1);
    record.set([0x16, 3, 1]);
    record.writeUInt16BE(recordBytes, 3);
    return record;
  }),
);
hello.writeUIntBE(128 * 1024 - 1, 6, 3);

/** OpenSSL gathers them, outside of V8's heap. */
describe("handshakes that begin with messages without end", () => {
  const directory = new TempDirectory();
  const sockets: Socket[] = [];
  let agent: AgentProcess;
  let vitals: Vitals;

  before(async () => {
    const authority = await Authority.create();
    const { cert, key } = await authority.issue();
    directory.replace("tls.crt", cert);
    directory.replace("tls.key", key);
    directory.replace("flags.json", JSON.stringify({ flags: {} }));
    const pair = ["-c", directory.file("tls.crt"), "-k", directory.file("tls.key")];
    agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`, ...pair]);
    await eventually(() => isReady(agent.management), "the agent is ready");
    vitals = new Vitals(agent.process.pid);
  });

  after(async () => {
    for (const socket of sockets) socket.destroy();
    vitals.stop();
    expect(await agent.process.stop(), agent.process.output).to.equal(0);
    directory.remove();
  });

  async function attack(count: number): Promise<void> {
    for (let opened = 0; opened < count; opened++) {
      const socket = createConnection(agent.ports.get("evaluation") ?? 0, "127.0.0.1");
      sockets.push(socket);
      socket.on("error", () => undefined);
      socket.write(hello);
    }
    await eventually(() => sockets.every(({ destroyed }) => destroyed), "the end of all connections");
  }

  it("are refused before their bytes are gathered", async () => {
    await attack(warmUp);
    vitals.markWarm();
    await attack(connections);

    vitals.expectGrowth({ below: 56, attack: (connections * hello.length) / mebibyte });
    const ended = 'bunting_agent_api_connections_ended_total{reason="tls"}';
    expect(await readMetric(agent.management, ended)).to.equal(warmUp + connections);
  });
});
