import { expect } from "chai";
import { decodeSyncResponse } from "./decode-sync-response.js";
import { MalformedMessageError } from "./message-fields.js";

/** A message with one field of bytes, such as one of the kinds of a SyncResponse. */
function nested(field: number, body: Buffer): Buffer {
  const length: number[] = [];
  let rest = body.length;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...length, rest]), body]);
}

/** A field of no bytes, so many times. */
function empties(field: number, count: number): Buffer {
  return Buffer.alloc(2 * count, Buffer.from([(field << 3) | 2, 0]));
}

describe("decodeSyncResponse", () => {
  // Two bytes of a message made a field of a hundred: one message of 15 MB cost gigabytes, and seconds of the event loop.
  it("refuses a tier with more proxies than there can be", () => {
    expect(() => decodeSyncResponse(nested(8, empties(1, 2_000_000)))).to.throw(
      MalformedMessageError,
      "more than 1024 fields",
    );
    const { kind } = decodeSyncResponse(nested(8, empties(1, 256)));
    expect(kind).to.equal("tier");
  });

  // It was sent back with each subscription, also to an honest proxy, which refuses messages of 128 KiB.
  it("refuses a version that is larger than any", () => {
    const missesDigest = (bytes: number): Buffer => nested(1, nested(2, nested(1, Buffer.alloc(bytes))));
    expect(() => decodeSyncResponse(missesDigest(2_000))).to.throw(
      MalformedMessageError,
      "a version of 2003 bytes, more than the 1024 allowed",
    );
    expect(() => decodeSyncResponse(missesDigest(500))).to.throw(MalformedMessageError, "a digest of 0");
  });

  it("refuses a delta with more flags than fit into a message", () => {
    expect(() => decodeSyncResponse(nested(3, empties(4, 7_000_000)))).to.throw(
      MalformedMessageError,
      "more than 400000 fields",
    );
  });
});
