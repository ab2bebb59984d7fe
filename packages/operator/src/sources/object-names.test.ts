import { expect } from "chai";
import { parseObjectName, parseObjectNames } from "./object-names.js";

describe("parseObjectNames", () => {
  const parse = (text: string): unknown => parseObjectNames(text, "shop");

  it("reads names of the Pod's namespace and of others, in their order", () => {
    expect(parse("end-to-end")).to.deep.equal([{ namespace: "shop", name: "end-to-end" }]);
    expect(parse(" b , platform/a.v2,,shop/b ")).to.deep.equal([
      { namespace: "shop", name: "b" },
      { namespace: "platform", name: "a.v2" },
      { namespace: "shop", name: "b" },
    ]);
  });

  for (const [text, reason] of [
    ["", "NothingNamed"],
    [" , ", "NothingNamed"],
    ["Upper", "InvalidName"],
    ["a/b/c", "InvalidName"],
    ["/a", "InvalidName"],
    ["a/", "InvalidName"],
    ["a,../b", "InvalidName"],
    ["a".repeat(1_025), "TooMany"],
    [Array.from({ length: 17 }, (_, index) => `a${index}`).join(), "TooMany"],
  ] as const)
    it(`refuses ${JSON.stringify(text.slice(0, 20))} with ${reason}`, () => {
      expect(parse(text)).to.have.property("reason", reason);
    });

  it("takes as many names as it says", () => {
    expect(parse(Array.from({ length: 16 }, () => "a").join())).to.have.length(16);
    expect(parseObjectName("x".repeat(254), "shop")).to.equal(undefined);
  });
});
