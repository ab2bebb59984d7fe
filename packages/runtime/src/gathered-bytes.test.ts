import { expect } from "chai";
import { GatheredBytes } from "./gathered-bytes.js";

const owned = (bytes: Buffer): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
};

describe("GatheredBytes", () => {
  const content = owned(Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251)));

  for (const sizes of [[1], [1, 4_096], [5_000, 1, 1], [65_536], [4_095], [16_384, 3, 20_000], [300_000]]) {
    it(`gathers chunks of ${sizes.join(", ")} bytes, and holds little more`, () => {
      const gathered = new GatheredBytes();
      // Assertions cost more than what they look at: one of each for all chunks.
      let wrongLengths = 0;
      let mostExcess = -Infinity;
      for (let at = 0, turn = 0; at < content.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        gathered.push(owned(content.subarray(at, at + size)));
        at += size;
        if (gathered.length !== Math.min(at, content.length)) wrongLengths++;
        mostExcess = Math.max(mostExcess, gathered.allocatedBytes - 2 * gathered.length);
      }
      expect(wrongLengths).to.equal(0);
      expect(mostExcess).to.be.lessThan(16_385);
      expect(gathered.take().equals(content)).to.equal(true);
      expect([gathered.length, gathered.allocatedBytes, gathered.take().length]).to.deep.equal([0, 0, 0]);
    });
  }

  it("does not copy a body of one chunk, unless it is a small part of what was read", () => {
    const gathered = new GatheredBytes();
    for (const whole of [owned(Buffer.from("{}")), content]) {
      gathered.push(whole);
      expect(gathered.take()).to.equal(whole);
    }
    gathered.push(content.subarray(7, 5_000));
    const taken = gathered.take();
    expect(taken.equals(content.subarray(7, 5_000))).to.equal(true);
    expect(taken.buffer.byteLength).to.be.lessThan(5_000);
  });
});
