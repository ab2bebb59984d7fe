import { Evaluator, parseDocument } from "@bunting/evaluation";
import type { FlagDocument, JsonObject, JsonValue, TopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { DocumentMerge } from "./document-merge.js";

function merged(
  documents: readonly (readonly [TopicKey, FlagDocument])[],
  maxBytes = 10_000,
): Buffer | undefined {
  const merge = new DocumentMerge(maxBytes);
  const fits = documents.every(([topic, document]) =>
    merge.add(topic, Buffer.from(JSON.stringify(document))),
  );
  return fits ? merge.result() : undefined;
}

describe("DocumentMerge", () => {
  it("keeps the metadata and the evaluators of each document apart", () => {
    const variants = { on: true, inner: { $ref: "inner" } };
    const flag = { variants, targeting: { if: [{ $ref: "is" }, "on", null] } };
    const of = (value: number): JsonObject => ({
      is: { $ref: "inner" },
      inner: { "==": [{ var: "n" }, value] },
    });
    const text = merged([
      ["a/x", { flags: { one: flag }, metadata: { flagSetId: "set", team: "a" }, $evaluators: of(1) }],
      [
        "b/x",
        {
          flags: { two: { ...flag, metadata: { team: "own" } } },
          metadata: { team: "b" },
          $evaluators: of(2),
        },
      ],
      ["c/x", { flags: { three: flag, bad: 5 } }],
    ]);
    const { flags, rejectedFlags } = parseDocument(JSON.parse(String(text)) as JsonValue);
    expect(flags.map(({ key, flagSetId, metadata }) => [key, flagSetId, metadata["team"]])).to.deep.equal([
      ["one", "set", "a"],
      ["two", "", "own"],
      ["three", "", undefined],
    ]);
    expect(rejectedFlags.map(({ key }) => key)).to.deep.equal(["bad"]);
    const evaluator = new Evaluator();
    evaluator.apply({ upserted: flags, removed: [] });
    expect(flags.map(({ variants }) => variants.get("inner"))).to.deep.equal([
      { "==": [{ var: "n" }, 1] },
      { "==": [{ var: "n" }, 2] },
      { $ref: "inner" },
    ]);
    const reasons = ["one", "two", "three"].map((key) => evaluator.resolve(key, { n: 2 }).reason);
    expect(reasons).to.deep.equal(["FALLBACK", "TARGETING_MATCH", "ERROR"]);
  });

  it("gives up when it becomes larger than a document may be, as metadata is written for each flag", () => {
    const flags = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`flag-${index}`, {}]));
    const document = { flags, metadata: { note: "x".repeat(200) } };
    const whole = merged([["a/x", document]], 20_000)?.length ?? 0;
    expect(whole).to.be.greaterThan(50 * 200);
    expect(merged([["a/x", document]], whole - 100)).to.equal(undefined);
  });
});
