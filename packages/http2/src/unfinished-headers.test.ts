import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { expect } from "chai";
import { type DropReason, PeerMemory, type PortListener } from "@bunting/server";
import {
  bytesStreaming,
  eventually,
  ManualClock,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";

const path = "/t.T/Hold";
const stepMs = 150;
/** Sweeps after which the timeout of the headers has passed twice. */
const manySweeps = 20;
const continuation = 9;
const endHeaders = 4;

describe("header blocks that do not end", () => {
  releaseAfterEach();

  let clock: ManualClock;
  let listener: PortListener;
  let memory: PeerMemory;
  let dropped: DropReason[];
  let requests: number;
  /** The server's side of the newest connection. */
  let accepted: Socket | undefined;
  const onAccept = (message: unknown): void => {
    accepted = (message as { readonly socket: Socket }).socket;
  };

  before(() => subscribe("net.server.socket", onAccept));
  after(() => unsubscribe("net.server.socket", onAccept));
  beforeEach(async () => {
    clock = new ManualClock();
    memory = new PeerMemory(Number.POSITIVE_INFINITY);
    dropped = [];
    requests = 0;
    const hold = bytesStreaming(path, (_request, out) => {
      requests++;
      out.sendHeaders();
    });
    listener = await serve([hold], {
      memory,
      // Silence is no reason here.
      keepalive: { intervalMs: 0, timeoutMs: 2 * stepMs, headersTimeoutMs: 4 * stepMs, clock },
      onDropped: (reason) => dropped.push(reason),
    });
  });

  /** A connection; the server's SETTINGS have been acknowledged. */
  async function connected(): Promise<RawClient> {
    const client = await rawClient(listener);
    client.send(Buffer.concat([wire.preface, wire.settings(), wire.settingsAck()]));
    await eventually(() => listener.sessions.size > 0 && client.received.length > 0);
    return client;
  }

  async function sweep(): Promise<void> {
    clock.advance(stepMs);
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** HEADERS of a request with so much of a long field that it has, with the rest, 12,000 bytes. */
  function block(): Buffer {
    const field = Buffer.concat([Buffer.of(0, 1, 0x78, 0x7f, ...lengthOf(11_000)), Buffer.alloc(11_000, 97)]);
    return Buffer.concat([wire.headers(1, path).subarray(9), field]);
  }

  it("are charged, and the connection is dropped, although a byte comes now and then", async () => {
    const client = await connected();
    const idleBytes = memory.bytes;
    client.send(wire.frame(1, 0, 1, block().subarray(0, 9_000)));
    await eventually(() => {
      void sweep();
      return memory.bytes > idleBytes + 8_000;
    }, "the charge");
    const rest = wire.frame(continuation, 0, 1, block().subarray(9_000, 9_900));
    let sent = 0;
    await eventually(() => {
      client.send(rest.subarray(sent, ++sent));
      void sweep();
      return dropped.length > 0;
    }, "the end");
    await client.closed;
    expect(dropped).to.deep.equal(["unfinished_headers"]);
    await eventually(() => memory.bytes === 0, "the account to be closed");
    expect(requests).to.equal(0);
  });

  it("are a request whose headers come over a slow link", async () => {
    const client = await connected();
    const idleBytes = memory.bytes;
    client.send(wire.frame(1, 0, 1, block().subarray(0, 9_000)));
    await eventually(() => {
      if (memory.bytes <= idleBytes + 8_000) void sweep();
      return memory.bytes > idleBytes + 8_000;
    }, "the charge");
    await sweep();
    await sweep();
    client.send(wire.frame(continuation, endHeaders, 1, block().subarray(9_000)));
    client.send(wire.data(1, Buffer.alloc(5)));
    await eventually(() => requests === 1);
    for (let count = 0; count < manySweeps; count++) await sweep();
    expect(dropped).to.deep.equal([]);
    // The headers are held with the stream, and not twice.
    expect(memory.bytes - idleBytes).to.be.lessThan(24_000);
  });

  it("are not what a client sends that does nothing but widen its window", async () => {
    const client = await connected();
    client.send(Buffer.concat([wire.headers(1, path), wire.data(1, Buffer.alloc(5))]));
    await eventually(() => requests === 1);
    await stays(client, Buffer.concat(Array<Buffer>(45).fill(wire.windowUpdate(0, 1))));
  });

  it("are not the message of a client that sends it slowly", async () => {
    const client = await connected();
    const message = Buffer.concat([Buffer.of(0, 0, 0, 0xea, 0x60), Buffer.alloc(60_000)]);
    client.send(wire.headers(1, path));
    const pieces = Array.from({ length: manySweeps }, (_, index) =>
      wire.data(1, message.subarray(index * 3_000, (index + 1) * 3_000), 0),
    );
    await stays(client, ...pieces);
    client.send(wire.data(1, message.subarray(60_000)));
    await eventually(() => requests === 1);
  });

  /** Sends a piece before each of many sweeps. */
  async function stays(client: RawClient, ...pieces: readonly Buffer[]): Promise<void> {
    for (let count = 0; count < manySweeps; count++) {
      client.send(pieces[count % pieces.length] ?? "");
      await eventually(() => accepted?.bytesRead === client.socket.bytesWritten, "the server to read it");
      await sweep();
    }
    expect(dropped).to.deep.equal([]);
  }
});

/** The rest of an integer whose prefix of seven bits is full (RFC 7541 5.1). */
function lengthOf(bytes: number): number[] {
  const rest: number[] = [];
  for (let left = bytes - 0x7f; ; left >>>= 7) {
    if (left < 0x80) return [...rest, left];
    rest.push((left & 0x7f) | 0x80);
  }
}
