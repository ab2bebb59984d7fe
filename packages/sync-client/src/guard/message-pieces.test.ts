import { expect } from "chai";
import { MessagePieces } from "./message-pieces.js";

/** A prefix, and as many bytes as it announces. */
function message(bytes: number): Buffer {
  const whole = Buffer.alloc(5 + bytes);
  whole.writeUInt32BE(bytes, 1);
  return whole;
}

/** How many bytes are taken in chunks of this size. */
function taken(bytes: Buffer, chunkBytes: number, pieces = new MessagePieces()): number {
  for (let at = 0; at < bytes.length; at += chunkBytes)
    if (!pieces.take(bytes.subarray(at, at + chunkBytes))) return at;
  return bytes.length;
}

describe("MessagePieces", () => {
  it("refuses a message that comes byte by byte once that is some thousand", () => {
    expect(taken(message(1_000_000), 1)).to.be.within(4_000, 5_000);
  });

  it("takes the largest message in frames of 16 KB, and in ones of a kilobyte", () => {
    const whole = message(16 * 1024 * 1024);
    for (const frameBytes of [16_384, 1_024]) expect(taken(whole, frameBytes)).to.equal(whole.length);
  });

  it("takes short messages without end byte by byte, also empty ones, and several in a chunk", () => {
    const short = Buffer.concat([message(100), message(0), message(7)]);
    const many = Buffer.concat(Array.from({ length: 200 }, () => short));
    for (const chunkBytes of [1, 3, 500, many.length]) expect(taken(many, chunkBytes)).to.equal(many.length);
  });

  it("begins anew with each message", () => {
    const pieces = new MessagePieces();
    for (let each = 0; each < 5; each++) {
      const part = message(4_000);
      expect(taken(part, 1, pieces)).to.equal(part.length);
    }
    expect(taken(message(10_000), 1, pieces)).to.be.below(10_000);
  });
});
