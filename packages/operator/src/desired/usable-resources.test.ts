import { expect } from "chai";
import { isOvercommittable, isUsableResource } from "./usable-resources.js";

/** What an API server makes of them is tried in test/cluster/operator-injection-ways.test.ts. */
describe("isUsableResource", () => {
  for (const [name, quantity] of [
    ["cpu", "100m"],
    ["memory", 0],
    ["ephemeral-storage", "1Gi"],
    ["hugepages-2Mi", "4Mi"],
    ["hugepages-1Gi", "0"],
    ["vendor.example/gpu", "2"],
    ["vendor.example/gpu", "2000m"],
    ["node.kubernetes.io/thing", "500m"],
  ] as const)
    it(`is true for ${name}: ${quantity}`, () => expect(isUsableResource(name, quantity)).to.equal(true));

  for (const [name, quantity] of [
    ["cpu", "-1"],
    ["cpu", "much"],
    ["gpu", "1"],
    ["storage", "1Gi"],
    ["hugepages-", "1"],
    ["hugepages-2Mi", "3Mi"],
    ["hugepages-0", "0"],
    ["hugepages-500m", "1"],
    ["hugepages-much", "1"],
    ["vendor.example/gpu", "500m"],
    ["vendor.example/", "1"],
    ["/gpu", "1"],
    ["a/b/c", "1"],
    ["Vendor.example/gpu", "1"],
    ["vendor.example/-gpu", "1"],
    ["requests.example/gpu", "1"],
    [`vendor.example/${"x".repeat(64)}`, "1"],
    [`${"a.".repeat(123)}example/gpu`, "1"],
  ] as const)
    it(`is false for ${name.slice(0, 40)}: ${quantity}`, () =>
      expect(isUsableResource(name, quantity)).to.equal(false));

  it("says of what a request may be lower than the limit", () => {
    const names = ["cpu", "node.kubernetes.io/thing", "hugepages-2Mi", "vendor.example/gpu"];
    expect(names.map(isOvercommittable)).to.deep.equal([true, true, false, false]);
  });
});
