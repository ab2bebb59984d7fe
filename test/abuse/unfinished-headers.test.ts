import { expect } from "chai";
import { frame, frameType } from "../../bench/load/http2-frames.js";
import { startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, literalHeader } from "./support/hostile-peer.js";
import { mebibyte, Vitals } from "./support/vitals.js";

const continuation = 0x9;
const maxFrameBytes = 16_384;
const warmUp = 600;
const connections = 1_600;
const budget = ["--peer-memory", "32Mi"];
const stringBytes = 60_000;

/** HEADERS and CONTINUATION frames with all but the last byte of a header field whose name and value are long. */
function unfinishedHeaders(): Buffer {
  const field = literalHeader("n".repeat(stringBytes), "v".repeat(stringBytes));
  const block = Buffer.concat([Buffer.of(0x83, 0x86), field]).subarray(0, -1);
  const frames: Buffer[] = [];
  for (let at = 0; at < block.length; at += maxFrameBytes) {
    const type = at === 0 ? frameType.headers : continuation;
    frames.push(frame(type, 0, 1, block.subarray(at, at + maxFrameBytes)));
  }
  return Buffer.concat(frames);
}

interface Attacked {
  readonly process: ServiceProcess;
  readonly management: string;
  readonly port: number;
  /** The metric of ended connections. */
  readonly ended: string;
}

/** Header blocks of HTTP/2 that never end, so that no request of them comes to be. */
describe("header blocks that never end", () => {
  let directory: TempDirectory;
  let attacked: Attacked;
  let vitals: Vitals;
  const peers: HostilePeer[] = [];

  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(async () => {
    vitals.stop();
    for (const peer of peers.splice(0)) peer.destroy();
    expect(await attacked.process.stop()).to.equal(0);
    directory.remove();
  });

  /** For memory, or for headers that are too large. */
  async function endedConnections(): Promise<number> {
    const series = ["memory", "protocol_error"].map((reason) => `${attacked.ended}{reason="${reason}"}`);
    const counts = await Promise.all(series.map((one) => readMetric(attacked.management, one)));
    return counts.reduce((sum, count) => sum + count);
  }

  async function attack(): Promise<void> {
    vitals = new Vitals(attacked.process.pid);
    const block = unfinishedHeaders();
    await send(block, warmUp);
    await eventually(async () => (await endedConnections()) > 0, "the first that are ended");
    vitals.markWarm();
    await send(block, connections);
    expect((await fetch(`${attacked.management}/healthz`)).status).to.equal(200);
    vitals.expectGrowth({ below: 120, attack: (connections * block.length) / mebibyte });
  }

  async function send(block: Buffer, count: number): Promise<void> {
    const opened: HostilePeer[] = [];
    for (let index = 0; index < count; index += 100) {
      const some = Array.from({ length: 100 }, () =>
        HostilePeer.connect(attacked.port, { answersPings: false }),
      );
      opened.push(...(await Promise.all(some)));
    }
    peers.push(...opened);
    await Promise.all(opened.map((peer) => peer.send(block)));
  }

  it("are charged to their connections by the proxy, and the greediest ended", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    const { process, management, sync } = await startProxy(directory.path, [
      ...budget,
      "--drain-delay",
      "0s",
    ]);
    attacked = {
      process,
      management,
      port: Number(sync.split(":")[1]),
      ended: "bunting_proxy_service_connections_ended_total",
    };
    await attack();
  });

  it("are charged to their connections by the agent, and the greediest ended", async () => {
    directory.replace("flags.json", JSON.stringify({ flags: {} }));
    const { process, management, ports } = await startAgent([
      "--uri",
      `file:${directory.file("flags.json")}`,
      ...budget,
    ]);
    attacked = {
      process,
      management,
      port: ports.get("evaluation") ?? 0,
      ended: "bunting_agent_api_connections_ended_total",
    };
    await attack();
  });
});
