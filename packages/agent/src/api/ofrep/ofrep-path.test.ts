import { expect } from "chai";
import { parseOfrepTarget } from "./ofrep-path.js";

const bulk = "/ofrep/v1/evaluate/flags";

describe("the target of an OFREP request", () => {
  for (const [target, expected] of [
    [bulk, { kind: "bulk" }],
    [`${bulk}/?a=b`, { kind: "bulk" }],
    [`http://localhost:8016${bulk}/on`, { kind: "flag", key: "on" }],
    [`${bulk}%2Fon`, { kind: "flag", key: "on" }],
    [`${bulk}/.hidden`, { kind: "flag", key: ".hidden" }],
    [`${bulk}/on/`, { kind: "unknown" }],
    [`/v2${bulk}`, { kind: "unknown" }],
    ["*", { kind: "unknown" }],
    [`${bulk}/%zz`, { kind: "malformed" }],
    [`${bulk}//`, { kind: "redirect", location: `${bulk}/` }],
    [`/${bulk}`, { kind: "redirect", location: bulk }],
    [`${bulk}/%2e%2e?x`, { kind: "redirect", location: "/ofrep/v1/evaluate?x" }],
    [`${bulk}/../flags/a%3Fb%20c`, { kind: "redirect", location: `/ofrep/v1/evaluate/flags/a%3Fb%20c` }],
  ] as const) {
    it(`${target} is ${JSON.stringify(expected)}`, () => {
      expect(parseOfrepTarget(target)).to.deep.equal(expected);
    });
  }
});
