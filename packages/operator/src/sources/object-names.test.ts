import { expect } from "chai";
import { addressKey, parseObjectName, parseObjectNames } from "./object-names.js";

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

  it("makes keys that it reads as the same object", () => {
    const address = { namespace: "team", name: "limits.v2" };
    expect(addressKey(address)).to.equal("team/limits.v2");
    expect(parseObjectName(addressKey(address), "shop")).to.deep.equal(address);
  });

  it("takes as many names as it says, and as long a text", () => {
    const longest = Array.from({ length: 4 }, () => "a".repeat(253)).join();
    expect(parse(longest.padEnd(1_024))).to.have.length(4);
    expect(parse(Array.from({ length: 16 }, () => "a").join())).to.have.length(16);
    expect(parseObjectName("x".repeat(254), "shop")).to.equal(undefined);
  });
});
