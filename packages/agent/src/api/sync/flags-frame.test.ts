import { parseDocument, type Flag } from "@bunting/evaluation";
import { expect } from "chai";
import fc from "fast-check";
import { FlagsFrame } from "./flags-frame.js";

const following = Buffer.of(0x12, 0x00);

/** Flags by key and value; a flag that is there already keeps its object, as in the store. */
function flagsOf(values: Readonly<Record<string, string>>, before: readonly Flag[] = []): Flag[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const kept = before.find((flag) => flag.key === key && flag.variants.get("is") === value);
    const definition = { state: "ENABLED", variants: { is: value }, defaultVariant: "is" };
    return kept ?? parseDocument({ flags: [{ key, ...definition }] }).flags;
  });
}

const values = fc.dictionary(
  fc.constantFrom("a", "b", "ä", "\ud83d\ude00", "z\uffff", '"q"'),
  fc.string({ unit: "grapheme" }),
);

describe("FlagsFrame", () => {
  it("is the same whether flags are copied from the frame before or written, and in a buffer of its size", () => {
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 6 }), (versions) => {
        let flags: Flag[] = [];
        let previous: FlagsFrame | undefined;
        for (const version of versions) {
          const next = flagsOf(version, flags);
          previous?.forget(new Set(flags.filter((flag) => !next.includes(flag))));
          const copied: FlagsFrame = new FlagsFrame(next, following, previous);
          const { frame, text } = new FlagsFrame(next, following);
          expect(copied.frame.equals(frame)).to.equal(true);
          expect(frame.buffer.byteLength).to.equal(frame.byteLength);
          expect(frame.readUInt32BE(1)).to.equal(frame.byteLength - 5);
          const written = JSON.parse(text.toString()) as {
            flags: Record<string, { variants: { is: string } }>;
          };
          expect(
            Object.fromEntries(Object.entries(written.flags).map(([key, flag]) => [key, flag.variants.is])),
          ).to.deep.equal(version);
          [flags, previous] = [next, copied];
        }
      }),
    );
  });
});
