import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { PeerConduct } from "./peer-conduct.js";
import type { DropReason, PortListener } from "@bunting/server";
import {
  BytesClient,
  bytesStreaming,
  bytesUnary,
  eventually,
  ManualClock,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";

const hold = bytesStreaming("/t.T/Hold", (_request, out) => out.sendHeaders());
const echo = bytesUnary("/t.T/Echo", (request) => request);

const continuation = (streamId: number, flags: number, block: Uint8Array): Buffer =>
  wire.frame(9, flags, streamId, block);
const literal = (name: string, value: string): Buffer<ArrayBuffer> =>
  Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);

describe("a peer that floods", () => {
  releaseAfterEach();

  let listener: PortListener;
  let dropped: DropReason[];
  let clock: ManualClock;

  beforeEach(async () => {
    dropped = [];
    clock = new ManualClock();
    listener = await serve([hold, echo], {
      onDropped: (reason) => dropped.push(reason),
      keepalive: { intervalMs: 1_000, timeoutMs: 1_000, clock },
    });
  });

  async function opened(): Promise<RawClient> {
    const client = await rawClient(listener);
    client.send(Buffer.concat([wire.preface, wire.settings()]));
    await eventually(() => listener.sessions.size === 1);
    return client;
  }

  /** Sends batch after batch until the connection has ended, or `count` were sent. */
  async function flood(
    client: RawClient,
    batch: (index: number) => Uint8Array,
    count: number,
  ): Promise<boolean> {
    for (let index = 0; index < count && !client.socket.closed; index++) {
      if (!client.socket.write(batch(index))) {
        await Promise.race([new Promise((resolve) => client.socket.once("drain", resolve)), client.closed]);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    return client.socket.closed;
  }

  async function stillServes(): Promise<void> {
    const response = await new BytesClient(listener).unary("/t.T/Echo", Buffer.from("still here"));
    expect(response.toString()).to.equal("still here");
  }

  /** Ended by GOAWAY, or by the RST that follows when unread bytes are dropped with it: only the end matters. */
  async function isEnded(client: RawClient): Promise<void> {
    await client.closed;
    await eventually(() => listener.sessions.size === 0);
    await stillServes();
  }

  it("with PINGs whose answers it reads is ended", async () => {
    const client = await opened();
    const pings = Buffer.concat(Array.from({ length: 50 }, wire.ping));
    expect(await flood(client, () => pings, 1_000)).to.be.true;
    await isEnded(client);
    expect(dropped).to.deep.equal(["flood"]);
  });

  it("with single PINGs is ended, too", async () => {
    const client = await opened();
    expect(await flood(client, wire.ping, 3_000)).to.be.true;
    await isEnded(client);
    expect(dropped).to.deep.equal(["flood"]);
  });

  it("with SETTINGS is ended", async () => {
    const client = await opened();
    const settings = Buffer.concat(Array.from({ length: 50 }, () => wire.settings({ 4: 65_535 })));
    expect(await flood(client, () => settings, 1_000)).to.be.true;
    await isEnded(client);
  });

  for (const [what, frame] of [
    ["acknowledgements of SETTINGS that it was not sent", wire.frame(4, 1, 0)],
    ["answers to PINGs that it was not sent", wire.frame(6, 1, 0, Buffer.alloc(8))],
  ] as const) {
    it(`with ${what} is ended`, async () => {
      const client = await opened();
      const frames = Buffer.concat(Array.from({ length: 50 }, () => frame));
      expect(await flood(client, () => frames, 1_000)).to.be.true;
      await isEnded(client);
      expect(dropped).to.deep.equal(["flood"]);
    });
  }

  it("with PINGs whose answers it does not read is ended, with a bounded queue of answers", async () => {
    const client = await opened();
    client.socket.pause();
    const pings = Buffer.concat(Array.from({ length: 1_000 }, wire.ping));
    // Whether it notices while it writes depends on how much the system takes.
    await flood(client, () => pings, 1_000).catch(() => undefined);
    await eventually(() => listener.sessions.size === 0, "the connection to be ended");
    await stillServes();
  });

  it("with streams that it opens and resets (rapid reset) is ended after at most a few thousand of them", async () => {
    const client = await opened();
    let calls = 0;
    let streamId = 1;
    const isGone = await flood(
      client,
      () => {
        const frames: Buffer[] = [];
        for (let i = 0; i < 100; i++, streamId += 2, calls++) {
          frames.push(wire.headers(streamId, "/t.T/Hold"), wire.rstStream(streamId));
        }
        return Buffer.concat(frames);
      },
      200,
    );
    // nghttp2 sends GOAWAY and stops reading, so it does not notice the end of the connection: that is left to the keepalive.
    expect(isGone || client.hasFrame(wire.type.goaway)).to.be.true;
    expect(calls).to.be.greaterThan(1_000);
    await stillServes();
    client.socket.destroy();
    clock.advance(3_000);
    await isEnded(client);
  });

  it("with CONTINUATION frames that never end a header block is ended after a few", async () => {
    const client = await opened();
    client.send(wire.frame(1, 0, 1, Buffer.from([0x83, 0x86])));
    const block = Buffer.concat(
      Array.from({ length: 100 }, (_, index) => literal(`x-${index}`, "v".repeat(100))),
    );
    expect(await flood(client, () => continuation(1, 0, block), 1_000)).to.be.true;
    await isEnded(client);
  });

  it("with empty DATA frames does not keep others from being served", async () => {
    // They hold nothing. An engine that ends the connection for them is not needed.
    const client = await opened();
    client.send(wire.headers(1, "/t.T/Hold"));
    const empty = Buffer.concat(Array.from({ length: 500 }, () => wire.data(1, Buffer.alloc(0), 0)));
    await flood(client, () => empty, 100);
    await stillServes();
    client.socket.destroy();
    // As after other floods, node may not notice the end of the connection: that is left to the keepalive.
    clock.advance(3_000);
    clock.advance(3_000);
    await isEnded(client);
  });

  it("with headers larger than allowed has only that stream refused", async () => {
    const client = await opened();
    const block = [
      Buffer.from([0x83, 0x86, 0x04, 9]),
      Buffer.from("/t.T/Hold"),
      Buffer.from([0x01, 1, 0x61]),
    ];
    for (let i = 0; i < 120; i++) block.push(literal(`x-${i}`, "v".repeat(120)));
    const whole = Buffer.concat(block);
    const frames = [wire.frame(1, 0, 1, whole.subarray(0, 8_000)), continuation(1, 4, whole.subarray(8_000))];
    client.send(Buffer.concat(frames));
    await eventually(() => client.received.length > 30);
    await stillServes();
  });
});

describe("the conduct of a peer", () => {
  let nowMs: number;
  let conduct: PeerConduct;
  beforeEach(() => {
    nowMs = 0;
    conduct = new PeerConduct({ ...systemClock, monotonicMs: () => nowMs });
  });

  it("never stops a keepalive, nor frames that follow something that was sent", () => {
    for (let i = 0; i < 10_000; i++, nowMs += 1_000) expect(conduct.countControlFrame(i * 17)).to.be.false;
    for (let i = 0; i < 10_000; i++) expect(conduct.countControlFrame(1_000_000 + i * 1_000)).to.be.false;
  });

  it("allows a hundred at once, and then ten per second", () => {
    const passed = (): number => {
      for (let count = 0; ; count++) if (conduct.countControlFrame(0)) return count;
    };
    expect(passed()).to.equal(100);
    nowMs = 1_000;
    expect(passed()).to.equal(10);
    nowMs = 1_000_000;
    expect(passed()).to.equal(100);
  });
});
