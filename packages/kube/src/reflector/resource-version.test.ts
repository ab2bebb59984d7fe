import { expect } from "chai";
import fc from "fast-check";
import { compareResourceVersions, isResourceVersion } from "./resource-version.js";

describe("resourceVersion", () => {
  it("is compared as a whole number of any length", () => {
    const version = fc.bigInt({ min: 1n, max: 2n ** 80n });
    fc.assert(
      fc.property(version, version, (a, b) => {
        const order = Math.sign(compareResourceVersions(String(a), String(b)));
        expect(order).to.equal(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });

  it("is digits without a leading zero, and nothing else", () => {
    for (const text of ["1", "42", "123456789012345678901234567890"])
      expect(isResourceVersion(text)).to.equal(true);
    for (const text of ["", "0", "01", "-1", "1e3", " 1", "a", 1, undefined, null]) {
      expect(isResourceVersion(text), String(text)).to.equal(false);
    }
  });
});
