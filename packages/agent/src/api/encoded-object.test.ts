import { expect } from "chai";
import { EncodedObject } from "./encoded-object.js";

describe("EncodedObject", () => {
  it("keeps nothing but the bytes of its encoding, which may live as long as the flags", () => {
    for (const text of ["a", "b".repeat(1_000)]) {
      const { struct } = new EncodedObject({ text });
      expect(struct.buffer.byteLength).to.equal(struct.byteLength);
    }
  });
});
