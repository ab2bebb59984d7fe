import { expect } from "chai";
import { PeerMemory, type PortListener } from "@bunting/server";
import type { PortListenerOptions } from "@bunting/server/internal/port/port-listener-options.js";
import {
  eventually,
  listen,
  rawClient,
  releaseAfterEach,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";

/** A POST of /, whose content follows. */
const post = (streamId: number): Buffer =>
  wire.frame(1, 4, streamId, Buffer.from([0x83, 0x86, 0x84, 0x01, 1, 0x61]));

/** CONNECT to a host, which announces no content. */
const tunnel = (streamId: number): Buffer =>
  wire.frame(1, 4, streamId, Buffer.from("\x02\x07CONNECT\x01\x01a", "latin1"));

/** The RST_STREAM frames that a client has received. */
function resetsOf({ received }: RawClient): { readonly id: number; readonly code: number }[] {
  const bytes = Buffer.from(received, "latin1");
  const found: { readonly id: number; readonly code: number }[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    if (bytes[at + 3] === wire.type.rstStream)
      found.push({ id: bytes.readUInt32BE(at + 5), code: bytes.readUInt32BE(at + 9) });
  return found;
}

const resets = (client: RawClient): number[] => resetsOf(client).map(({ code }) => code);

describe("a request over HTTP/2 that is answered before its end", () => {
  releaseAfterEach();

  let listener: PortListener;
  let closedAnswers: number;
  let client: RawClient;

  beforeEach(() => begin());

  async function begin(options: Partial<PortListenerOptions> = {}): Promise<void> {
    closedAnswers = 0;
    listener = await listen({
      ...options,
      grpc: { onStream: () => undefined },
      http: (_, response) => {
        response.on("close", () => closedAnswers++);
        response.writeHead(404).end("There is nothing.");
      },
    });
    client = await rawClient(listener);
    client.send(Buffer.concat([wire.preface, wire.settings(), wire.settingsAck(), post(1)]));
    await eventually(() => client.received.includes("There is nothing."), "the answer");
  }

  /** Resolves when the server has handled what was sent until now. */
  async function handled(): Promise<void> {
    const pings = client.frames(wire.type.ping);
    client.send(wire.ping());
    await eventually(() => client.frames(wire.type.ping) > pings, "the answer to PING");
  }

  it("may be sent to its end without a reset, to which clients such as curl lose the answer", async () => {
    await handled();
    expect(closedAnswers).to.equal(1);
    // More than a window holds.
    const content = Array.from({ length: 5 }, () => wire.data(1, Buffer.alloc(16_000), 0));
    client.send(Buffer.concat([...content, wire.data(1, Buffer.alloc(0))]));
    await handled();
    expect(resets(client)).to.deep.equal([]);
    // It has closed: what still comes on it is an error of the client.
    client.send(wire.data(1, Buffer.alloc(1), 0));
    await eventually(() => resets(client).length > 0, "RST_STREAM");
    expect(resets(client)).to.deep.equal([5]);
  });

  it("is reset without an error if its client does not end it soon", async () => {
    await eventually(() => resets(client).length > 0, "RST_STREAM");
    expect(resets(client)).to.deep.equal([0]);
    await handled();
  });

  it("is reset at once if it is CONNECT: nothing is being sent, and clients wait for the end of what is no tunnel", async () => {
    client.send(tunnel(3));
    await eventually(() => resets(client).length > 0, "RST_STREAM");
    // The request before it, which was answered before, may still be sent.
    expect(resetsOf(client)).to.deep.equal([{ id: 3, code: 0 }]);
  });

  it("is reset at once on a connection that is refused for want of memory, as nothing is charged that is held of it", async () => {
    const refused = await listen({ memory: new PeerMemory(1), grpc: { onStream: () => undefined } });
    const one = await rawClient(refused);
    one.send(Buffer.concat([wire.preface, wire.settings(), wire.settingsAck(), post(1)]));
    await Promise.race([eventually(() => resets(one).length > 0, "RST_STREAM"), one.closed]);
    expect(resets(one)).to.deep.equal([0]);
  });

  it("may be reset by its client once it is answered, however often: those in Go, and Envoy, do that", async () => {
    for (let id = 3; id < 3_000; id += 200) {
      const ids = Array.from({ length: 100 }, (_, index) => id + 2 * index);
      const before = closedAnswers;
      client.send(Buffer.concat(ids.map(post)));
      await eventually(() => closedAnswers === before + ids.length, "the answers");
      client.send(Buffer.concat(ids.map((each) => wire.rstStream(each))));
    }
    await handled();
    expect(client.frames(wire.type.goaway)).to.equal(0);
  });

  it("is reset without an error, too, where it would be a stall: its client has the answer, and must not try again", async () => {
    let stalled = 0;
    await begin({ stall: { timeoutMs: 80, onStreamStalled: () => stalled++ } });
    await eventually(() => resets(client).length > 0, "RST_STREAM");
    expect([resets(client), stalled]).to.deep.equal([[0], 1]);
  });
});
