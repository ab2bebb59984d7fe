import { expect } from "chai";
import fc from "fast-check";
import { canonicalJson, compareUtf8 } from "./canonical-json.js";
import type { JsonValue } from "./json.js";

describe("canonicalJson", () => {
  it("keeps a key called __proto__ and sorts numeric keys as text", () => {
    const value = JSON.parse('{"9":1,"10":2,"__proto__":{"b":1,"a":2}}') as JsonValue;
    expect(canonicalJson(value)).to.equal('{"10":2,"9":1,"__proto__":{"a":2,"b":1}}');
  });

  it("gives the same text for the same value whatever the order of its keys", () => {
    expect(canonicalJson({ b: [1, { d: null, c: "é" }], a: true })).to.equal(
      canonicalJson({ a: true, b: [1, { c: "é", d: null }] }),
    );
  });

  it("writes long lists and objects as it writes short ones", () => {
    for (const length of [1_023, 1_024, 1_025, 2_048, 2_049]) {
      const list = Array.from({ length }, (_, index) => (index % 2 === 0 ? [index] : -0.5));
      expect(canonicalJson(list)).to.equal(JSON.stringify(list));
      const keys = list.map((_, index) => `k${String(index).padStart(4, "0")}`);
      const object = Object.fromEntries(keys.map((key) => [key, key]));
      expect(canonicalJson(object)).to.equal(JSON.stringify(object));
    }
  });

  it("writes JSON that parses to the value it was given", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const once = canonicalJson(value as JsonValue);
        expect(canonicalJson(JSON.parse(once) as JsonValue)).to.equal(once);
        expect(JSON.parse(once)).to.deep.equal(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe("compareUtf8", () => {
  it("orders as the UTF-8 bytes do, also above the basic plane", () => {
    const wellFormed = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(wellFormed, wellFormed, (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).to.equal(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
    expect(compareUtf8("\u{1f600}", "\uffff")).to.be.greaterThan(0);
  });
});
