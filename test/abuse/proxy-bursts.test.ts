import { createConnection, type Socket } from "node:net";
import { expect } from "chai";
import { dataFrame, frame, frameType, preface, settingsAck } from "../../bench/load/http2-frames.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { portOf, startProxyOn, type ProxyProcess } from "../support/proxy-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { requestFrames } from "./support/hostile-peer.js";
import { mebibyte, Vitals } from "./support/vitals.js";

/** The limit of the proxy's container in our chart. */
const limitBytes = 512 * mebibyte;
const bodyBytes = 900_000;
const call = Buffer.concat([
  preface,
  frame(frameType.settings, 0, 0, Buffer.alloc(0)),
  settingsAck,
  requestFrames(1, "/flagd.sync.v1.FlagSyncService/SyncFlags", { endsStream: false }),
]);

/** What each connection sends once it is accepted, and what all of them send at once when all are there. */
interface Burst {
  readonly port: "sync" | "management";
  readonly connections: number;
  readonly first: string | Buffer;
  readonly rest: string | Buffer;
}

function chunked(bytes: number): string {
  const chunk = `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`;
  return `${chunk.repeat(Math.floor(bodyBytes / bytes))}0\r\n\r\n`;
}

const startOf = (header: string): string => `POST /status HTTP/1.1\r\nhost: a\r\n${header}\r\n\r\n`;
const head = `GET /metrics HTTP/1.1\r\nhost: a\r\n${"h: v\r\n".repeat(90)}\r\n`;

const bursts: Readonly<Record<string, Burst>> = {
  "bodies that nobody reads": {
    ...{ port: "management", connections: 400 },
    first: `${startOf(`content-length: ${bodyBytes}`)}x`,
    rest: "x".repeat(bodyBytes - 1),
  },
  "bodies in chunks of a byte": {
    ...{ port: "management", connections: 200 },
    first: startOf("transfer-encoding: chunked"),
    rest: chunked(1),
  },
  "pipelined requests with many headers": {
    ...{ port: "management", connections: 400 },
    first: "",
    rest: head.repeat(300),
  },
  "bodies over HTTP/1.1 to the port of gRPC": {
    ...{ port: "sync", connections: 1_000 },
    first: `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${bodyBytes}\r\n\r\nx`,
    rest: "x".repeat(bodyBytes - 1),
  },
  "headers without end to the port of gRPC": {
    ...{ port: "sync", connections: 1_000 },
    first: "GET / HTTP/1.1\r\n",
    rest: "a: b\r\n".repeat(bodyBytes / 6),
  },
  "messages in pieces that do not end": {
    ...{ port: "sync", connections: 1_500 },
    first: call,
    rest: Buffer.concat(Array.from({ length: 60 }, () => dataFrame(1, Buffer.alloc(1_000, 1), false))),
  },
};

describe("bursts at a proxy in the limit of its container", () => {
  let directory: TempDirectory;
  let group: MemoryCgroup | undefined;
  let proxy: ProxyProcess;
  let vitals: Vitals;
  let client: StockSyncClient;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    group = MemoryCgroup.isAvailable ? new MemoryCgroup(limitBytes) : undefined;
    proxy = await startProxyOn(`dir:${directory.path}`, [], {}, group?.wrapper);
    vitals = new Vitals(proxy.process.pid);
    client = new StockSyncClient(proxy.sync);
  });
  afterEach(async () => {
    vitals.stop();
    client.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    expect(group?.kills ?? 0).to.equal(0);
    await group?.remove();
    directory.remove();
  });

  function connect({ port, first }: Burst): Socket {
    const number = port === "sync" ? portOf(proxy) : Number(new URL(proxy.management).port);
    const socket = createConnection({ port: number, host: "127.0.0.1", localAddress: "127.0.0.2" });
    sockets.push(socket);
    // Nothing is read: answers wait at the proxy.
    socket.on("error", () => undefined).pause();
    if (first.length > 0) socket.write(first);
    return socket;
  }

  for (const [name, burst] of Object.entries(bursts))
    it(`hold little, and keep nobody from flags (${name})`, async () => {
      for (let opened = 0; opened < burst.connections; opened++) connect(burst);
      await eventually(() => sockets.every(({ connecting }) => !connecting), "all connections");
      for (const socket of sockets) socket.write(burst.rest);

      await client.subscribe({ selector: "default/flags" }).messages.nextEvent("flags");
      expect((await fetch(`${proxy.management}/healthz`)).status).to.equal(200);
      // Of the hundreds of megabytes that were sent; a busy machine collects later.
      vitals.expectWithinContainer(192);
    });
});
