import { leastCpu } from "@bunting/test/support/cpu-growth.js";
import { expect } from "chai";
import { jsonPlaces } from "./json-places.js";
import { defaultTextLimits } from "./text-limits.js";

describe("jsonPlaces", () => {
  it("finds the key at a path, or the nearest around it", () => {
    const text = '{"a": [1, {"b\\"c": {}}], "__proto__": 2}';
    const places = jsonPlaces(text, defaultTextLimits, 0);
    const found = (...path: string[]): string => {
      const offset = places(path);
      return text.slice(offset, offset + 6);
    };
    expect(found("a", "1", 'b"c')).to.equal('"b\\"c"');
    expect(found("a", "0")).to.equal('1, {"b');
    expect(found("a", "7", "x")).to.equal('"a": [');
    expect(found("__proto__")).to.equal('"__pro');
    expect(found("nope")).to.equal('{"a": ');
    expect(found()).to.equal('{"a": ');
  });

  it("finds every place of a long text, in its order, without a scan of the text for each", async () => {
    const keys = Array.from({ length: 2_000 }, (_, index) => `k${index}`);
    const text = `{"flags":{${keys.map((key) => `"${key}":{"metadata":{"bad":{}}}`).join(",")}}}`;
    const cpuOf = (some: readonly string[]): Promise<number> =>
      leastCpu(() => {
        const places = jsonPlaces(text, defaultTextLimits, 0);
        for (const key of some) expect(places(["flags", key, "metadata", "bad"])).to.be.greaterThan(0);
      });
    const all = await cpuOf(keys);
    expect(all, "as much as 100 scans").to.be.lessThan(100 * (await cpuOf(keys.slice(-1))));
  });
});
