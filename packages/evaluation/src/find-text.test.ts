import { expect } from "chai";
import fc from "fast-check";
import { containsText, type TextUnits } from "./find-text.js";

/** A text that counts how often it is read. */
function counted(text: string): { readonly units: TextUnits; reads: () => number } {
  let reads = 0;
  const units = {
    length: text.length,
    charCodeAt: (index: number) => {
      reads++;
      return text.charCodeAt(index);
    },
  };
  return { units, reads: () => reads };
}

const few = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 40 });
const part = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });
/** Periodic texts are what searches are wrong about. */
const repeated = fc.tuple(part, fc.nat(6), part).map(([unit, times, rest]) => unit.repeat(times) + rest);

describe("containsText", () => {
  it("finds what String.includes finds", () => {
    fc.assert(
      fc.property(fc.oneof(few, repeated), fc.oneof(part, repeated), (text, wanted) => {
        expect(containsText(text, wanted)).to.equal(text.includes(wanted));
      }),
      { numRuns: 3_000 },
    );
    for (const [text, wanted] of [
      ["", ""],
      ["a", ""],
      ["", "a"],
      ["ab😀c", "😀"],
      ["abcabcabd", "abcabd"],
    ] as const)
      expect(containsText(text, wanted)).to.equal(text.includes(wanted));
  });

  const half = 40_000;
  const hostile: Readonly<Record<string, readonly [text: string, wanted: string]>> = {
    "a late difference in the middle": [
      "a".repeat(2 * half),
      `${"a".repeat(half / 2)}b${"a".repeat(half / 2)}`,
    ],
    "a difference at the beginning": ["a".repeat(2 * half), `b${"a".repeat(half)}`],
    "a difference at the end": ["a".repeat(2 * half), `${"a".repeat(half)}b`],
    "a period that is broken again and again": [
      `${"ab".repeat(20)}a`.repeat(half / 20),
      "ab".repeat(half / 2),
    ],
    "words of Fibonacci": [fibonacci(2 * half), `${fibonacci(half)}c`],
  };
  for (const [what, [text, wanted]] of Object.entries(hostile)) {
    it(`reads both texts a few times only: ${what}`, () => {
      const inText = counted(text);
      const inPart = counted(wanted);
      expect(containsText(inText.units, inPart.units)).to.equal(text.includes(wanted));
      expect(inText.reads()).to.be.at.most(2 * text.length + wanted.length);
      expect(inPart.reads()).to.be.at.most(2 * text.length + 12 * wanted.length);
    });
  }
});

function fibonacci(length: number): string {
  let [a, b] = ["a", "ab"];
  while (b.length < length) [a, b] = [b, b + a];
  return b.slice(0, length);
}
