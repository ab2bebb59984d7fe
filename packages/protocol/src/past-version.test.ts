import { expect } from "chai";
import fc from "fast-check";
import { buntingSyncV1 } from "./index.js";
import {
  boundedHistory,
  historyFromJson,
  historyHeapBytes,
  historyLength,
  historyToJson,
  maxHistoryBytes,
  maxHistoryKeys,
  type PastVersion,
} from "./past-version.js";

const past = (flags: readonly string[], number = 0): PastVersion => ({
  digest: number.toString(16).padStart(64, "0"),
  flags,
  metadata: true,
  evaluators: true,
});

describe("boundedHistory", () => {
  it("keeps the newest versions", () => {
    const history = Array.from({ length: historyLength + 5 }, (_, index) => past(["f"], index));
    expect(boundedHistory(history)).to.deep.equal(history.slice(5));
    expect(boundedHistory([])).to.deep.equal([]);
  });

  it("ends before the version with which there would be too many keys", () => {
    const keys = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`);
    const history = [past(keys(maxHistoryKeys)), past(["a"]), past(["b"])];
    expect(boundedHistory(history)).to.deep.equal(history.slice(1));
    expect(boundedHistory([past(keys(maxHistoryKeys + 1))])).to.deep.equal([]);
    expect(boundedHistory([past(keys(maxHistoryKeys))])).to.have.length(1);
  });

  it("stays within its bytes as a message and as JSON, whatever characters keys have", () => {
    const text = fc.oneof(
      fc.string({ maxLength: 4_000, size: "max" }),
      fc.string({ unit: "binary", maxLength: 4_000, size: "max" }),
      fc.constantFrom("\u0001".repeat(9_000), "\u{1F600}".repeat(9_000), "x".repeat(maxHistoryBytes)),
    );
    const versions = fc.array(fc.array(text, { maxLength: 4 }), { maxLength: 40, size: "max" });
    fc.assert(
      fc.property(versions, (all) => {
        const bounded = boundedHistory(all.map((flags, index) => past(flags, index)));
        const message = buntingSyncV1.History.encode({
          topic: "",
          digest: Buffer.alloc(0),
          versions: bounded.map((version) => ({
            ...version,
            digest: Buffer.from(version.digest, "hex"),
            flags: [...version.flags],
          })),
        });
        expect(message.finish().length).to.be.at.most(maxHistoryBytes);
        const json = JSON.stringify(historyToJson(bounded));
        expect(Buffer.byteLength(json)).to.be.at.most(maxHistoryBytes);
        expect(historyFromJson(JSON.parse(json))).to.deep.equal(bounded);
      }),
      { numRuns: 200 },
    );
  });
});

describe("historyHeapBytes", () => {
  it("weighs each version, each key, and the text of keys", () => {
    const empty = historyHeapBytes([past([])]);
    const one = historyHeapBytes([past([""])]);
    expect(empty).to.be.greaterThan(100);
    expect(one).to.be.greaterThan(empty);
    expect(historyHeapBytes([past(["x".repeat(1_000)])]) - one).to.be.within(1_000, 2_000);
  });
});

describe("a history as JSON", () => {
  it("is read as it was written", () => {
    const history: PastVersion[] = [
      { ...past(["é", ""], 1), metadata: false },
      { ...past([], 2), evaluators: false },
    ];
    expect(historyFromJson(historyToJson(history))).to.deep.equal(history);
    expect(historyFromJson(historyToJson([]))).to.deep.equal([]);
  });

  it("is none if it is of another form, or beyond the bounds", () => {
    const one = ["A".repeat(43), ["f"], 0];
    expect(historyFromJson([one])).to.have.length(1);
    const wrong = [
      ...[
        undefined,
        null,
        {},
        "x",
        [null],
        [{}],
        [one.slice(1)],
        [["A", ["f"], 0]],
        [["A".repeat(44), [], 0]],
      ],
      ...[[["A".repeat(43), [1], 0]], [["A".repeat(43), "f", 0]], [["A".repeat(43), [], "0"]]],
      Array.from({ length: historyLength + 1 }, () => one),
      [["A".repeat(43), Array.from({ length: maxHistoryKeys + 1 }, () => ""), 0]],
      [["A".repeat(43), ["x".repeat(maxHistoryBytes)], 0]],
    ];
    for (const value of wrong) expect(historyFromJson(value)).to.equal(undefined);
  });
});
