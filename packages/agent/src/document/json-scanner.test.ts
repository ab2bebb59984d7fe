import { heapWeights, type JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import fc from "fast-check";
import { JsonScanner } from "./json-scanner.js";

const weights = heapWeights.serving;
const odd = fc.constantFrom('"', "\\", '\\"', "{", "}", "é", "日", "\u{1f600}", "$ref", "\n");
const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 2, arbitrary: fc.array(odd, { maxLength: 4 }).map((parts) => parts.join("")) },
  // Longer than what the scanner looks ahead.
  { weight: 1, arbitrary: fc.nat(5_000).map((length) => "x".repeat(length)) },
);
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    text,
    fc.constantFrom<JsonValue>(true, null, -1.5, 0),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(text, tie("value"), { maxKeys: 5 }),
  ),
}));

describe("JsonScanner", () => {
  it("finds the end, depth and weight of any value, also when it returns to earlier values", () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 8 }), (values) => {
        const texts = values.map((each) => JSON.stringify(each));
        const bytes = Buffer.from(texts.join(" "));
        const scanner = new JsonScanner(bytes);
        const starts: number[] = [];
        for (const [i, each] of values.entries()) {
          starts.push(scanner.position);
          expectSkipped(scanner, each, texts[i] ?? "");
          scanner.position++;
        }
        for (const [i, start] of [...starts.entries()].reverse()) {
          scanner.position = start;
          expectSkipped(scanner, values[i] ?? null, texts[i] ?? "");
        }
      }),
      { numRuns: 300 },
    );
  });

  it("reports a possible reference whenever there is one", () => {
    fc.assert(
      fc.property(value, (before) => {
        const scanner = new JsonScanner(Buffer.from(JSON.stringify([before, { $ref: "x" }])));
        scanner.skipValue();
        expect(scanner.mentionsReference).to.equal(true);
      }),
    );
  });
});

function expectSkipped(scanner: JsonScanner, value: JsonValue, json: string): void {
  const start = scanner.position;
  scanner.weight = 0;
  scanner.skipValue();
  expect(scanner.position - start).to.equal(Buffer.byteLength(json));
  expect(scanner.depth).to.equal(depthOf(value));
  // What stands alone in a list or object is charged with the commas around it.
  const scalar = typeof value !== "object" && typeof value !== "string" ? weights.item : 0;
  expect(scanner.weight).to.equal(value === null ? weights.item : weightOf(value) + scalar);
}

function depthOf(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value as object).map((member) => depthOf(member as JsonValue)));
}

/** By the rules of heap-weights.ts, from the value instead of its bytes. */
function weightOf(value: JsonValue): number {
  if (typeof value === "string") return weightOfText(value);
  if (typeof value !== "object" || value === null) return 0;
  const isList = Array.isArray(value);
  const members = Object.entries(value as object) as [string, JsonValue][];
  const commas = Math.max(0, members.length - 1) * weights.item;
  const inner = members.map(
    ([key, member]) => (isList ? 0 : weights.property + weightOfText(key)) + weightOf(member),
  );
  const own = isList ? weights.list : weights.object;
  return own + commas + inner.reduce((sum, each) => sum + each, 0);
}

function weightOfText(text: string): number {
  const json = JSON.stringify(text);
  const size = Buffer.byteLength(json) - 1;
  const isTwoByte = json.includes("\\") || Buffer.byteLength(json) !== json.length;
  return weights.string + (isTwoByte ? 2 * size : size);
}
