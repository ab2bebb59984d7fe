import { expect } from "chai";
import type { DropReason, PortListener } from "@bunting/server";
import {
  bytesStreaming,
  eventually,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";

const hold = bytesStreaming("/t.T/Hold", (_request, out) => out.sendHeaders());
const streams = Array.from({ length: 1_500 }, (_, index) => 2 * index + 1);

describe("a client that makes us reset its streams", () => {
  releaseAfterEach();

  let listener: PortListener;
  let dropped: DropReason[];
  let client: RawClient;

  beforeEach(async () => {
    dropped = [];
    listener = await serve([hold], {
      onDropped: (reason) => dropped.push(reason),
      limits: { maxStreamsPerConnection: 1_000, maxHeaderBytes: 1_000, settingsTimeoutMs: 10_000 },
    });
    client = await rawClient(listener);
    client.send(Buffer.concat([wire.preface, wire.settings(), wire.settingsAck()]));
    await eventually(() => listener.sessions.size === 1);
  });

  const open = (streamId: number): Buffer => wire.headers(streamId, "/t.T/Hold");
  const ended = (streamId: number): Buffer => wire.data(streamId, Buffer.alloc(5));

  for (const [what, framesOf] of [
    ["by a window that overflows", (id) => [open(id), wire.windowUpdate(id, 2 ** 31 - 1)]],
    ["by WINDOW_UPDATE of 0", (id) => [open(id), wire.windowUpdate(id, 0)]],
    ["by DATA after its end", (id) => [open(id), ended(id), ended(id)]],
    ["by HEADERS after its end", (id) => [open(id), ended(id), open(id)]],
    ["by large headers", (id) => [wire.headers(id, "/t.T/Hold", large)]],
    ["by content that does not come", (id) => [endsWithHeaders(id)]],
  ] as readonly (readonly [string, (streamId: number) => Buffer[]])[]) {
    it(`${what} is ended beyond a thousand`, async () => {
      client.send(Buffer.concat(streams.slice(0, 900).flatMap(framesOf)));
      await eventually(() => client.frames(wire.type.rstStream) === 900, "900 resets");
      expect(dropped).to.deep.equal([]);
      client.send(Buffer.concat(streams.slice(900).flatMap(framesOf)));
      await eventually(() => dropped.length > 0, "the connection to be ended");
      expect(dropped).to.deep.equal(["protocol_error"]);
      await client.closed;
    });
  }

  it("by DATA on streams that we have forgotten is ended beyond a thousand", async () => {
    for (const id of streams.slice(0, 100)) client.send(Buffer.concat([open(id), wire.rstStream(id)]));
    const late = Buffer.concat(Array.from({ length: 800 }, () => wire.data(1, Buffer.alloc(0), 0)));
    client.send(late);
    await eventually(() => client.frames(wire.type.rstStream) === 800, "800 resets");
    expect(dropped).to.deep.equal([]);
    client.send(late);
    await eventually(() => dropped.length > 0, "the connection to be ended");
    expect(dropped).to.deep.equal(["protocol_error"]);
    await client.closed;
  });
});

const large = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`x-${index}`, "v".repeat(100)]));

/** A request that announces content, and ends with its headers. */
function endsWithHeaders(streamId: number): Buffer {
  const frame = wire.headers(streamId, "/t.T/Hold", { "content-length": "5" });
  frame[4] = 5;
  return frame;
}
