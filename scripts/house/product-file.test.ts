import { expect } from "chai";
import { isProductFile, lineCount } from "./product-file.js";

describe("product files", () => {
  it("are the sources of packages without tests, their parts, and what is generated", () => {
    const files = [
      "packages/kube/src/index.ts",
      "packages/proxy/src/topic/topic.ts",
      "packages/proxy/src/topic/topic.test.ts",
      "packages/proxy/src/topic/topic.fixture.ts",
      "packages/agent/src/sync/heap.child.ts",
      "packages/protocol/src/gen/sync.ts",
      "packages/proxy/page/page.ts",
      "scripts/lint.ts",
    ];
    expect(files.filter(isProductFile)).to.deep.equal(files.slice(0, 2));
  });

  it("have as many lines as an editor numbers", () => {
    expect(["a", "a\n", "a\nb", "a\n\n"].map(lineCount)).to.deep.equal([1, 1, 2, 2]);
  });
});
