import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { updateSource, type SourceDocument } from "./update-source.js";

const source = { uri: "proxy:8015", sourceIndex: 0 };
const on: JsonObject = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };
const off: JsonObject = { ...on, defaultVariant: "off" };
const referring: JsonObject = { ...on, targeting: { if: [{ $ref: "staff" }, "on", "off"] } };
const staff = (...emails: readonly string[]): JsonObject => ({
  staff: { in: [{ var: "email" }, emails] },
});

function update(document: JsonObject, before?: SourceDocument): SourceDocument {
  const bytes = Buffer.from(JSON.stringify(document));
  return updateSource(bytes, before, source, () => undefined).state;
}

describe("updateSource", () => {
  it("weighs flags after edits as much as if their document were the first, with the rules that they refer to", () => {
    const $evaluators = staff("a@b.example", "b@b.example");
    const unreferenced = update({ flags: { first: on, second: on, third: on }, $evaluators }).weight;
    let state = update({ flags: { first: referring, second: on, third: referring }, $evaluators });
    expect(state.weight).to.be.greaterThan(unreferenced);
    const edits: readonly JsonObject[] = [
      { flags: { first: referring, second: off, third: referring }, $evaluators },
      { flags: { first: referring, third: referring }, $evaluators },
      { flags: { first: on, third: referring }, $evaluators },
      { flags: { first: on, third: referring }, $evaluators: staff("c@b.example") },
      { flags: { first: on, third: referring }, $evaluators: staff("c@b.example"), metadata: { team: "x" } },
      { flags: { third: on }, $evaluators },
    ];
    for (const [index, edit] of edits.entries()) {
      state = update(edit, state);
      expect(state.weight, `after edit ${index}`).to.equal(update(edit).weight);
    }
  });
});
