import { expect } from "chai";
import { checkOptions, type BackplaneOptions } from "./backplane-options.js";

describe("checkOptions", () => {
  it("fills in what is not given, and changes nothing any more", () => {
    const checked = checkOptions({ address: "redis://a", leaseMs: 700 });
    expect(checked).to.deep.include({ keyPrefix: "bunting:", leaseMs: 700, shards: 16, compareMs: 15_000 });
    expect(checked.address.hosts).to.have.length(1);
    expect(Object.isFrozen(checked)).to.equal(true);
  });

  const refusals: readonly (readonly [Partial<BackplaneOptions>, string])[] = [
    [{ keyPrefix: "a b" }, "--backplane-key-prefix"],
    [{ keyPrefix: "a".repeat(101) }, "--backplane-key-prefix"],
    [{ tlsCertFile: "a" }, "belong together"],
    [{ tlsCaFile: "a" }, "write rediss://"],
    [{ userFile: "a" }, "no user without a password"],
    [{ sentinelUserFile: "a" }, "no user without a password"],
    [{ sentinelPasswordFile: "a" }, "write redis+sentinel://"],
  ];
  for (const [options, reason] of refusals) {
    it(`refuses ${JSON.stringify(options).slice(0, 50)} and says why`, () => {
      expect(() => checkOptions({ address: "redis://a", ...options }))
        .to.throw(reason)
        .with.property("code", "OPTION_INVALID");
    });
  }
});
