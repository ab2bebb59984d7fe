import { expect } from "chai";
import fc from "fast-check";
import { KeyTable } from "./key-table.js";

describe("KeyTable", () => {
  it("returns each key as it was written, whichever keys share its slot", () => {
    const table = new KeyTable();
    const key = fc.string({ unit: fc.constantFrom("a", "b", "-", "\u007f"), maxLength: 8 });
    fc.assert(
      fc.property(fc.array(key, { maxLength: 50 }), (keys) => {
        for (const each of [...keys, ...keys]) {
          const bytes = Buffer.from(`<${each}>`);
          expect(table.key(bytes, 1, bytes.length - 1)).to.equal(each);
        }
      }),
    );
    for (let i = 0; i < 10_000; i++) {
      const bytes = Buffer.from(`key-${i % 3_000}`);
      expect(table.key(bytes, 0, bytes.length)).to.equal(`key-${i % 3_000}`);
    }
  });

  it("does not take keys that are long or not ASCII", () => {
    const table = new KeyTable();
    for (const text of ["é", "a".repeat(49), "\u0080"]) {
      expect(table.key(Buffer.from(text), 0, Buffer.byteLength(text))).to.equal(undefined);
    }
  });
});
