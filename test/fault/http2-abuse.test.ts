import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { frame, frameFlag, frameType } from "../../bench/load/http2-frames.js";
import { mebibyte, Vitals } from "../abuse/support/vitals.js";
import { manifest, versionOf } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { eventually } from "../support/event-queue.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
const opening = Buffer.concat([preface, frame(frameType.settings, 0, 0, Buffer.alloc(0))]);
const continuation = 0x9;

const methods = [
  "/flagd.sync.v1.FlagSyncService/SyncFlags",
  "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
  "/flagd.sync.v1.FlagSyncService/GetMetadata",
  "/sync.v1.FlagSyncService/SyncFlags",
  "/sync.v1.FlagSyncService/FetchAllFlags",
  "/bunting.sync.v1.SyncService/Sync",
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/** Bytes that are the same in each run. */
function noise(seed: number): (bytes: number) => Buffer {
  let state = seed;
  return (bytes) => {
    const buffer = Buffer.alloc(bytes);
    for (let i = 0; i < bytes; i++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      buffer[i] = state >>> 16;
    }
    return buffer;
  };
}

const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);

function headers(streamId: number, path: string, more: Readonly<Record<string, string>> = {}): Buffer {
  const fields = Object.entries({ "content-type": "application/grpc", ...more });
  const block = Buffer.concat([
    Buffer.of(0x83, 0x86, 0x04, path.length),
    Buffer.from(path),
    // :authority; without it nghttp2 would reset the request before it arrives.
    Buffer.of(0x01, 1),
    Buffer.from("x"),
    ...fields.map(([name, value]) => literal(name, value)),
  ]);
  return frame(frameType.headers, frameFlag.endHeaders, streamId, block);
}

function message(streamId: number, bytes: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return frame(frameType.data, frameFlag.endStream, streamId, Buffer.concat([prefix, bytes]));
}

const connections = 20;
/** What a proxy holds of a stream, at least. */
const streamBytes = 2_000;

interface AttackOptions {
  /** Default: true. */
  readonly reads?: boolean;
  /** What a proxy would hold of each round that held all it gets. Without it, the attack is not one of memory. */
  readonly heldBytes?: number;
}

/** What malicious HTTP/2 peers do to a real proxy while a stock client is subscribed to it. */
describe("an abused proxy", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let client: StockSyncClient;
  let subscription: SyncSubscription;
  let version = 1;
  let vitals: Vitals;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    version = 1;
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", version));
    const args = ["--drain-delay", "0", "--drain-window", "0"];
    proxy = await startProxy(directory.path, [
      ...args,
      "--keepalive-interval",
      "1s",
      // The client of this test may be as slow on a busy machine; the attackers never answer.
      "--keepalive-timeout",
      "5s",
    ]);
    client = new StockSyncClient(proxy.sync);
    subscription = client.subscribe({ selector: "default/flags" });
    await subscription.messages.nextEvent("flags");
    vitals = new Vitals(proxy.process.pid);
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    client.close();
    vitals.stop();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    expect(proxy.process.logs.filter(({ level }) => level === "error")).to.deep.equal([]);
    directory.remove();
  });

  async function connect(): Promise<Socket> {
    const socket = createConnection(Number(proxy.sync.split(":")[1]), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.resume();
    sockets.push(socket);
    await once(socket, "connect");
    socket.write(opening);
    return socket;
  }

  async function send(socket: Socket, bytes: Uint8Array): Promise<void> {
    if (socket.destroyed || socket.write(bytes)) return;
    await Promise.race([
      ...["drain", "close"].map(
        (event) => new Promise<void>((resolve) => socket.once(event, () => resolve())),
      ),
      new Promise((resolve) => setTimeout(resolve, 200)),
    ]);
  }

  /** An edit still reaches the subscriber. */
  async function isWell(): Promise<void> {
    directory.replace("flags.yaml", manifest("flags", ++version));
    expect(versionOf((await subscription.messages.nextEvent("an edit")).text)).to.equal(version);
  }

  function metric(series: string): Promise<number> {
    return readMetric(proxy.management, series);
  }

  /** Twenty concurrent connections do the same `rounds` times, or until they are dropped. */
  async function attack(
    rounds: number,
    round: (index: number) => Uint8Array,
    { reads = true, heldBytes }: AttackOptions = {},
  ): Promise<Socket[]> {
    const attackers = await Promise.all(Array.from({ length: connections }, connect));
    const third = Math.ceil(rounds / 3);
    if (!reads) for (const socket of attackers) socket.pause();
    for (let index = 0; index < rounds; index++) {
      await Promise.all(attackers.map((socket) => send(socket, round(index))));
      if (index % third !== 0) continue;
      if (index <= third) vitals.markWarm();
      await isWell();
    }
    await isWell();
    if (heldBytes !== undefined) {
      const warmRounds = rounds - third - 1;
      vitals.expectGrowth({ below: 64, attack: (connections * warmRounds * heldBytes) / mebibyte });
    }
    return attackers;
  }

  it("survives rapid resets, and drops peers that stay connected after them", async () => {
    let id = 1;
    const attackers = await attack(
      60,
      () => {
        const frames: Buffer[] = [];
        for (let i = 0; i < 100; i++, id += 2) {
          frames.push(
            headers(id, methods[0] ?? ""),
            frame(frameType.rstStream, 0, id, Buffer.of(0, 0, 0, 8)),
          );
        }
        return Buffer.concat(frames);
      },
      { heldBytes: 100 * streamBytes },
    );
    await eventually(() => attackers.every(({ destroyed }) => destroyed), "the end of the attackers");
    await eventually(async () => (await metric("sync_active_streams")) === 1, "one stream, ours");
  });

  it("survives header blocks that never end", async () => {
    const block = Buffer.concat(Array.from({ length: 100 }, (_, i) => literal(`x-${i}`, "v".repeat(100))));
    const attackers = await attack(
      900,
      (index) =>
        index === 0
          ? frame(frameType.headers, 0, 1, Buffer.of(0x83, 0x86))
          : frame(continuation, 0, 1, block),
      { heldBytes: block.length },
    );
    await eventually(() => attackers.every(({ destroyed }) => destroyed), "the end of the attackers");
  });

  it("survives floods of PING and SETTINGS, read or not, and counts the peers it dropped", async () => {
    const pings = Buffer.concat(
      Array.from({ length: 500 }, () => frame(frameType.ping, 0, 0, Buffer.alloc(8))),
    );
    const settings = Buffer.concat(
      Array.from({ length: 500 }, () => frame(frameType.settings, 0, 0, Buffer.of(0, 4, 0, 0, 255, 255))),
    );
    for (const [bytes, reads] of [
      [pings, true],
      [pings, false],
      [settings, true],
      [settings, false],
    ] as const) {
      const attackers = await attack(1_200, () => bytes, { reads, heldBytes: bytes.length });
      for (const socket of attackers) socket.resume();
      await eventually(() => attackers.every(({ destroyed }) => destroyed), "the end of the attackers");
    }
    expect(await metric('bunting_proxy_service_connections_ended_total{reason="flood"}')).to.be.greaterThan(
      0,
    );
  });

  it("survives endless WINDOW_UPDATE, PRIORITY and frames of unknown types", async () => {
    const updates = Array.from({ length: 500 }, () =>
      frame(frameType.windowUpdate, 0, 0, Buffer.of(0, 0, 0, 1)),
    );
    const priorities = Array.from({ length: 500 }, (_, i) => frame(0x2, 0, 2 * i + 1, Buffer.alloc(5)));
    const unknown = Array.from({ length: 500 }, () => frame(0xfa, 0, 0, Buffer.alloc(500)));
    const bytes = Buffer.concat([...updates, ...priorities, ...unknown]);
    await attack(30, () => bytes, { heldBytes: bytes.length });
  });

  it("survives headers of any size and number", async () => {
    let id = 1;
    const attackers = await attack(30, (index) => {
      const more: Record<string, string> = {};
      for (let i = 0; i < index * 5; i++) more[`x-${i}`] = "v".repeat(120);
      const whole = headers(id, methods[0] ?? "", more).subarray(9);
      const parts: Buffer[] = [];
      for (let at = 0; at < whole.length; at += 16_000) {
        const isLast = at + 16_000 >= whole.length;
        const type = at === 0 ? frameType.headers : continuation;
        parts.push(frame(type, isLast ? frameFlag.endHeaders : 0, id, whole.subarray(at, at + 16_000)));
      }
      id += 2;
      return Buffer.concat(parts);
    });
    for (const socket of attackers) socket.destroy();
    await eventually(async () => (await metric("sync_active_streams")) === 1, "one stream, ours");
  });

  it("survives peers that send many requests and read nothing", async () => {
    const flags = Buffer.concat([Buffer.of(0x12, 13), Buffer.from("default/flags")]);
    let id = 1;
    await attack(
      10,
      () => {
        const frames: Buffer[] = [];
        for (let i = 0; i < 90; i++, id += 2)
          frames.push(headers(id, methods[i % 2] ?? ""), message(id, flags));
        return Buffer.concat(frames);
      },
      { reads: false },
    );
    await eventually(
      async () => (await metric("sync_active_streams")) === 1,
      "the end of those that are silent",
    );
  });

  it("survives invalid frames on 300 connections", async () => {
    const random = noise(42);
    for (let round = 0; round < 300; round++) {
      const socket = await connect();
      const [type = 0, flags = 0, streamId = 0, length = 0] = random(4);
      const head = frame(type % 12, flags, streamId % 8, random(length));
      await send(socket, round % 3 === 0 ? random(200) : head);
      if (round % 100 === 0) await isWell();
    }
    await isWell();
  });

  it("answers any bytes and selectors sent to any method, and keeps working", async () => {
    const random = noise(7);
    for (const path of methods) {
      const socket = await connect();
      for (let index = 0; index < 150; index++) {
        const id = 2 * index + 1;
        const [size = 0] = random(1);
        const selector = random(size % 40);
        const body =
          index % 2 === 0 ? random(size) : Buffer.concat([Buffer.of(0x12, selector.length), selector]);
        const printable = random(12).toString("base64url");
        await send(
          socket,
          Buffer.concat([headers(id, path, { "flagd-selector": printable }), message(id, body)]),
        );
      }
      await isWell();
      socket.destroy();
    }
    const hostile = [
      "../../etc/passwd",
      "a,metadata.namespace=kube-system/x",
      "file:/etc/passwd",
      "%00/x",
      "x".repeat(60_000),
    ];
    for (const selector of hostile) {
      const { code } = await client.subscribe({ selector }).ended;
      expect(code, selector.slice(0, 40)).to.equal(status.INVALID_ARGUMENT);
    }
    await isWell();
  });
});
