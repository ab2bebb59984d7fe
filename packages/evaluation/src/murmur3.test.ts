import { expect } from "chai";
import fc from "fast-check";
import { murmur3 } from "./murmur3.js";

describe("murmur3", () => {
  it("gives the published values", () => {
    expect(murmur3("")).to.equal(0);
    expect(murmur3("test")).to.equal(0xba6bd213);
    expect(murmur3("Hello, world!")).to.equal(0xc0363e43);
    expect(murmur3("The quick brown fox jumps over the lazy dog")).to.equal(0x2e4ff723);
  });

  it("hashes the UTF-8 bytes of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        expect(murmur3(text)).to.equal(referenceMurmur3(Buffer.from(text)));
      }),
    );
  });

  it("hashes two pieces like the joined text", () => {
    const text = fc.string({ unit: "binary", maxLength: 20 });
    fc.assert(fc.property(text, text, (a, b) => murmur3(a, b) === murmur3(a + b)));
  });

  it("reads half a surrogate pair as the replacement character", () => {
    expect(murmur3("a\ud800b")).to.equal(murmur3("a\ufffdb"));
    expect(murmur3("\udc00")).to.equal(murmur3("\ufffd"));
  });
});

/** The algorithm as published, byte by byte and with BigInt: slow and plain. */
function referenceMurmur3(bytes: Buffer): number {
  const mask = 0xffffffffn;
  const rotate = (x: bigint, by: bigint): bigint => ((x << by) | (x >> (32n - by))) & mask;
  const scramble = (k: bigint): bigint => (rotate((k * 0xcc9e2d51n) & mask, 15n) * 0x1b873593n) & mask;
  let hash = 0n;
  const whole = bytes.length - (bytes.length % 4);
  for (let i = 0; i < whole; i += 4) {
    hash = (rotate(hash ^ scramble(BigInt(bytes.readUInt32LE(i))), 13n) * 5n + 0xe6546b64n) & mask;
  }
  const rest = [...bytes.subarray(whole)].reduce((sum, byte, i) => sum | (BigInt(byte) << BigInt(8 * i)), 0n);
  hash ^= scramble(rest) ^ BigInt(bytes.length);
  hash = ((hash ^ (hash >> 16n)) * 0x85ebca6bn) & mask;
  hash = ((hash ^ (hash >> 13n)) * 0xc2b2ae35n) & mask;
  return Number(hash ^ (hash >> 16n));
}
