import { readOptions } from "@bunting/runtime";
import { expect } from "chai";
import { proxyOptionTable } from "../../options.js";
import { backplaneConfig, type BackplaneProxyOptions } from "./backplane-config.js";

describe("backplaneConfig", () => {
  let off: BackplaneProxyOptions;
  let on: BackplaneProxyOptions;
  before(async () => {
    off = (await readOptions(proxyOptionTable, { argv: [], env: {}, readsConfig: false })).options;
    on = { ...off, backplane: "redis://redis:6379" };
  });

  it("is nothing without an address", () => {
    expect(backplaneConfig(off)).to.equal(undefined);
  });

  it("passes on what is given", () => {
    const files = { backplaneUserFile: "/u", backplanePasswordFile: "/p" };
    const times = { backplaneLease: 8_000, backplaneStable: 300 };
    const config = backplaneConfig({ ...on, ...files, ...times, backplaneKeyPrefix: "x:" });
    expect(config).to.deep.include({ userFile: "/u", passwordFile: "/p", keyPrefix: "x:" });
    expect(config).to.deep.include({ leaseMs: 8_000, stableMs: 300 });
  });

  it("accepts the longest lease that the option accepts", () => {
    expect(backplaneConfig({ ...on, backplaneLease: 500_000 })?.memberMs).to.equal(600_000);
  });

  const refusals: readonly (readonly [Partial<BackplaneProxyOptions>, string])[] = [
    [{ backplane: "", backplaneKeyFile: "/k" }, "--backplane-key-file is given without --backplane"],
    [{ backplane: "", backplaneServerName: "a" }, "--backplane-server-name is given without --backplane"],
    [{ backplane: "redis:6379" }, "--backplane can't be used"],
    [{ backplaneCertFile: "/c", backplane: "rediss://a" }, "--backplane-tls-key-file belong together"],
    [{ backplaneCaFile: "/c" }, "write rediss://"],
    [{ backplaneUserFile: "/u" }, "without --backplane-password-file"],
    [{ backplaneSentinelPasswordFile: "/p" }, "--backplane-sentinel-password-file is given, but"],
    [{ backplaneKeyPrefix: "a b" }, "--backplane-key-prefix has characters"],
  ];
  for (const [options, reason] of refusals)
    it(`refuses ${JSON.stringify(options)} by the names that the user knows`, () => {
      expect(() => backplaneConfig({ ...on, ...options }))
        .to.throw(reason)
        .with.property("code", "OPTION_INVALID");
    });

  it("does not repeat a password that is in the address", () => {
    expect(() => backplaneConfig({ ...on, backplane: "redis://u:secret@redis" })).to.throw(/^(?!.*secret)/);
  });
});
