import { expect } from "chai";
import { JsonPlaces } from "./json-places.js";
import { defaultTextLimits } from "./text-limits.js";

describe("JsonPlaces", () => {
  it("finds the key at a path, or the nearest around it", () => {
    const text = '{"a": [1, {"b\\"c": {}}], "__proto__": 2}';
    const places = new JsonPlaces(text, defaultTextLimits, 0);
    const found = (...path: string[]): string => {
      const offset = places.offsetOf(path);
      return text.slice(offset, offset + 6);
    };
    expect(found("a", "1", 'b"c')).to.equal('"b\\"c"');
    expect(found("a", "0")).to.equal('1, {"b');
    expect(found("a", "7", "x")).to.equal('"a": [');
    expect(found("__proto__")).to.equal('"__pro');
    expect(found("nope")).to.equal('{"a": ');
    expect(found()).to.equal('{"a": ');
  });

  it("finds every place of a long text in a time that grows with the text", () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `k${index}`);
    const text = `{"flags":{${keys.map((key) => `"${key}":{"metadata":{"bad":{}}}`).join(",")}}}`;
    const places = new JsonPlaces(text, defaultTextLimits, 0);
    const beganMs = performance.now();
    for (const key of keys) places.offsetOf(["flags", key, "metadata", "bad"]);
    // About 50 ms; scanning the text for each took a minute.
    expect(performance.now() - beganMs).to.be.lessThan(5_000);
  });
});
