import { expect } from "chai";
import { deepJson } from "./admission-review.fixture.js";
import { excessOf } from "./review-size.js";

describe("excessOf", () => {
  const of = (text: string): string | undefined => excessOf(Buffer.from(text));

  it("lets objects of the largest size pass that the API server stores", () => {
    const rule = { if: [{ "==": [{ var: "email" }, "a@example.com"] }, "on", "off"] };
    const flags = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, i) => [`flag-${i}`, { targeting: rule }]),
    );
    const text = JSON.stringify({ object: flags, oldObject: flags });
    expect(text.length).to.be.greaterThan(3_000_000);
    expect(of(text)).to.equal(undefined);
  });

  it("says what is too much: levels, objects and lists, or fields", () => {
    expect(of(deepJson(10_000))).to.equal(undefined);
    expect(of(deepJson(10_001))).to.equal("is nested more than 10000 levels deep");
    expect(of(`[${"{},".repeat(299_998)}[]]`)).to.equal(undefined);
    expect(of(`[${"{},".repeat(299_999)}[]]`)).to.equal("has more than 300000 objects and lists");
    expect(of(`{${'"a":1,'.repeat(400_001)}`)).to.equal("has more than 400000 fields");
  });

  it("does not count what stands in texts, whatever is escaped there", () => {
    for (const text of ["[".repeat(20_000), '\\"[['.repeat(20_000), "\\", '"', ":".repeat(500_000)])
      expect(of(JSON.stringify([text]))).to.equal(undefined);
    expect(of(`["\\\\",${deepJson(10_000)}]`)).to.equal("is nested more than 10000 levels deep");
  });
});
