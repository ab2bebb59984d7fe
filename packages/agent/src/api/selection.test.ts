import { RpcError } from "@bunting/rpc";
import { expect } from "chai";
import { createSelections } from "./selection.js";

describe("the selections of requests", () => {
  const selections = createSelections();
  const longSource = `source=${"x".repeat(300)}`;
  const tooLong = "x".repeat(5_000);

  it("are kept if their selector is short", () => {
    expect(selections.of("flagSetId=a")).to.equal(selections.of("flagSetId=a"));
    expect(selections.of("")).to.equal(selections.of(undefined));
  });

  it("are made for the request alone if their selector is long", () => {
    const selection = selections.of(longSource);
    expect(selection).not.to.equal(selections.of(longSource));
    expect(selection.text).to.equal(longSource);
    expect(selection.metadata.object).to.deep.equal({ source: "x".repeat(300) });
  });

  it("select nothing and hold nothing if their selector is longer than any name", () => {
    for (const text of [tooLong, `flagSetId=${tooLong}`]) {
      const selection = selections.of(text);
      expect(selection.select?.({ source: tooLong, flagSetId: tooLong })).to.equal(false);
      expect(JSON.stringify(selection).length).to.be.lessThan(200);
    }
    expect(() => selections.of(`${tooLong}=x`)).to.throw(RpcError);
  });
});
