import { expect } from "chai";
import { optionBags } from "./option-bags.js";
import { productFile } from "./product-file.js";

describe("optionBags", () => {
  const members = (count: number): string =>
    Array.from({ length: count }, (_, index) => `m${index}: string;`).join(" ");

  it("counts interfaces and type literals of over six members by what their name ends with", () => {
    const text = [
      `interface ServerOptions { ${members(7)} }`,
      `type TopicParts = { ${members(8)} };`,
      `type CallContext = Base & { ${members(4)} } & { ${members(5)} };`,
      `interface LeasesShared extends ServerOptions { ${members(6)} }`,
      `interface Report { ${members(20)} }`,
    ].join("\n");
    const { now, offenders } = optionBags([productFile("a.ts", text)]);
    expect(now).to.equal(3);
    expect(offenders).to.deep.equal([
      { file: "a.ts", line: 3, text: "CallContext: 9 members" },
      { file: "a.ts", line: 2, text: "TopicParts: 8 members" },
      { file: "a.ts", line: 1, text: "ServerOptions: 7 members" },
    ]);
  });
});
