import { Evaluator, parseDocument } from "@bunting/evaluation";
import type { JsonObject, JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { mergeDocuments } from "./merge-documents.js";

describe("mergeDocuments", () => {
  it("keeps the metadata and the evaluators of each document apart", () => {
    const flag = { variants: { on: true }, targeting: { if: [{ $ref: "is" }, "on", null] } };
    const of = (value: number): JsonObject => ({
      is: { $ref: "inner" },
      inner: { "==": [{ var: "n" }, value] },
    });
    const text = mergeDocuments([
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
    const { flags, rejectedFlags } = parseDocument(JSON.parse(text) as JsonValue);
    expect(flags.map(({ key, flagSetId, metadata }) => [key, flagSetId, metadata["team"]])).to.deep.equal([
      ["one", "set", "a"],
      ["two", "", "own"],
      ["three", "", undefined],
    ]);
    expect(rejectedFlags.map(({ key }) => key)).to.deep.equal(["bad"]);
    const evaluator = new Evaluator();
    evaluator.apply({ upserted: flags, removed: [] });
    const reasons = ["one", "two", "three"].map((key) => evaluator.resolve(key, { n: 2 }).reason);
    expect(reasons).to.deep.equal(["FALLBACK", "TARGETING_MATCH", "ERROR"]);
  });
});
