import { readdirSync } from "node:fs";
import { expect } from "chai";
import { frame, frameFlag, frameType, windowUpdate } from "../../bench/load/http2-frames.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, literalHeader, requestFrames } from "./support/hostile-peer.js";

const syncFlags = "/flagd.sync.v1.FlagSyncService/SyncFlags";
const selector = Buffer.concat([Buffer.of(0x12, 13), Buffer.from("default/flags")]);
const continuation = 0x9;
const clients = 21;

function rapidResets(): Buffer {
  const cancel = Buffer.of(0, 0, 0, 8);
  return Buffer.concat(
    Array.from({ length: 1_500 }, (_, index) => {
      const streamId = 2 * index + 3;
      return Buffer.concat([
        requestFrames(streamId, syncFlags),
        frame(frameType.rstStream, 0, streamId, cancel),
      ]);
    }),
  );
}

/** What nghttp2 answers with GOAWAY, whereupon node may read nothing more, not even the end of the connection. */
const errors: readonly Buffer[] = [
  // Garbage instead of frames.
  Buffer.alloc(200, 0xff),
  // A frame that is too large.
  Buffer.of(0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 3),
  // Headers that are no HPACK.
  frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, 3, Buffer.alloc(20, 0xff)),
  // Data of a stream that was never opened.
  frame(frameType.data, frameFlag.endStream, 7, Buffer.alloc(5)),
  // A window that overflows.
  Buffer.concat([windowUpdate(0, 2 ** 31 - 1), windowUpdate(0, 2 ** 31 - 1)]),
  // A header block that never ends.
  Buffer.concat([
    frame(frameType.headers, 0, 3, Buffer.of(0x83, 0x86)),
    ...Array.from({ length: 20 }, (_, index) => frame(continuation, 0, 3, literalHeader(`x-${index}`, "y"))),
  ]),
  // Too many streams that are opened and reset.
  rapidResets(),
];

/** Connections that have failed, or whose clients have left, with a proxy that sends no PINGs. */
describe("failed connections", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let port: number;
  const peers: HostilePeer[] = [];

  before(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path, [
      "--keepalive-interval",
      "0",
      "--drain-delay",
      "0",
      "--drain-window",
      "0",
    ]);
    port = Number(proxy.sync.split(":")[1]);
  });

  afterEach(() => {
    for (const peer of peers.splice(0)) peer.destroy();
  });

  after(async () => {
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
  });

  const descriptors = (): number => readdirSync(`/proc/${proxy.process.pid}/fd`).length;

  async function streams(): Promise<number> {
    const metrics = await (await fetch(`${proxy.management}/metrics`)).text();
    return Number(/^sync_active_streams (\d+)$/m.exec(metrics)?.[1]);
  }

  /** Clients with an open stream, each of which then makes one of the errors. */
  async function offenders(): Promise<HostilePeer[]> {
    const opened = await Promise.all(Array.from({ length: clients }, () => HostilePeer.connect(port)));
    peers.push(...opened);
    for (const peer of opened) await peer.request(syncFlags, { message: selector, endsStream: false });
    await eventually(() => opened.every(({ dataBytes }) => dataBytes.size === 1), "flags");
    for (const [index, peer] of opened.entries())
      await peer.send(errors[index % errors.length] ?? Buffer.of());
    return opened;
  }

  it("hold no descriptor and no stream after their clients have left, whatever the error was", async () => {
    const before = descriptors();
    const opened = await offenders();
    await eventually(() => opened.every(({ goaway }) => goaway !== undefined), "a GOAWAY");
    for (const peer of opened) peer.destroy();
    // The process may have opened one of its own meanwhile.
    await eventually(() => descriptors() <= before + 1, "the descriptors to be closed");
    expect(await streams()).to.equal(0);
  });

  it("are closed although their clients keep them open", async () => {
    const opened = await offenders();
    await eventually(() => opened.every(({ goaway }) => goaway !== undefined), "a GOAWAY");
    // After too many resets, the streams that are open may go on.
    for (const peer of opened) await peer.reset(1);
    await eventually(() => opened.every(({ isClosed }) => isClosed), "the end of the connections");
    const metrics = await (await fetch(`${proxy.management}/metrics`)).text();
    expect(metrics).to.match(/_connections_ended_total\{reason="protocol_error"\} [1-9]/);
  });

  it("of clients that leave without an error are closed, whether or not they have read everything", async () => {
    const before = descriptors();
    const opened = await Promise.all(
      Array.from({ length: clients }, (_, index) => HostilePeer.connect(port, { reads: index % 2 === 0 })),
    );
    peers.push(...opened);
    for (const peer of opened) await peer.request(syncFlags, { message: selector, endsStream: false });
    await eventually(async () => (await streams()) === clients, "the streams");
    for (const peer of opened) peer.destroy();
    await eventually(async () => (await streams()) === 0, "the end of the streams");
    await eventually(() => descriptors() <= before + 1, "the descriptors to be closed");
  });
});
