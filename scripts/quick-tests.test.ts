import { expect } from "chai";
import { quickTests } from "./quick-tests.js";

describe("quickTests", () => {
  const seconds = new Map([
    ["packages/proxy/src/a.test.ts", 20],
    ["packages/proxy/src/b.test.ts", 9],
    ["packages/proxy/src/c.test.ts", 6],
    ["packages/proxy/src/d.test.ts", 2],
    ["packages/kube/src/a.test.ts", 16],
  ]);
  const secondsOf = (file: string): number => seconds.get(file) ?? 0;

  it("are the quickest of each package, as many as may take sixteen seconds together", () => {
    expect(quickTests([...seconds.keys()], secondsOf)).to.deep.equal({
      files: ["packages/proxy/src/c.test.ts", "packages/proxy/src/d.test.ts", "packages/kube/src/a.test.ts"],
      leftOut: ["packages/proxy/src/a.test.ts", "packages/proxy/src/b.test.ts"],
    });
  });

  it("are none if the one that was asked for is slow", () => {
    expect(quickTests(["packages/proxy/src/a.test.ts"], secondsOf)).to.deep.equal({
      files: [],
      leftOut: ["packages/proxy/src/a.test.ts"],
    });
  });
});
