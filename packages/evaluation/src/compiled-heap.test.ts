import { expect } from "chai";
import { compiledHeapBytes } from "./compiled-heap.js";
import { inlineReferences } from "./inline-references.js";

describe("compiledHeapBytes", () => {
  it("is nothing for constants, however large", () => {
    for (const constant of ["a", 1, null, [1, [2, [3]]], { a: 1, b: { c: 2 } }])
      expect(compiledHeapBytes(constant), JSON.stringify(constant)).to.equal(0);
  });

  it("grows with each part of a rule that takes more than its text shows", () => {
    const bytesOf = compiledHeapBytes;
    const short = bytesOf({ var: "a" });
    expect(bytesOf({ var: "a.b" })).to.be.greaterThan(short);
    expect(bytesOf({ "==": [{ var: "a" }, 1] })).to.equal(2 * short);
    expect(bytesOf({ fractional: [[{ var: "a" }, 1]] })).to.be.greaterThan(2 * short + 100);
    expect(bytesOf({ if: [true, { var: "a" }] })).to.be.greaterThan(
      bytesOf({ if: [{ var: "a" }, true] }) + 100,
    );
    expect(bytesOf({ missing: ["a"] })).to.be.greaterThan(bytesOf({ cat: ["a"] }) + 100);
    const inItems = bytesOf({ some: [[], { "==": [{ var: "a" }, 1] }] });
    expect(inItems).to.be.greaterThan(bytesOf({ some: [{ "==": [{ var: "a" }, 1] }, null] }) + 300);
  });

  it("counts an evaluator for each flag only where it is compiled for items", () => {
    const staff = { or: [{ var: "a.b" }, { var: "a.c" }] };
    const referring = (rule: object): number =>
      compiledHeapBytes(inlineReferences(rule as never, { staff }, (reason) => expect.fail(reason)));
    const none = compiledHeapBytes({ if: [{ var: "a" }, "on"] }) - compiledHeapBytes({ var: "a" });
    expect(referring({ if: [{ $ref: "staff" }, "on"] })).to.equal(none);
    expect(referring({ some: [[], { $ref: "staff" }] })).to.be.greaterThan(compiledHeapBytes(staff));
  });
});
