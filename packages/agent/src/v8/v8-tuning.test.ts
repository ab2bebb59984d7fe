import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { agentImage, proxyImage } from "@bunting/test/support/service-process.js";
import { v8Tuning } from "./v8-tuning.js";

const { stdout: v8Options } = spawnSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
const nodeOptions = process.allowedNodeEnvironmentFlags;

/** Whether this V8 knows the option, whose name may be written with a `no-` in front and a value behind. */
function isOfV8(flag: string): boolean {
  const name = /^--(?:no-)?([a-z0-9-]+)/.exec(flag)?.[1] ?? "";
  return new RegExp(`^  --${name} \\(`, "m").test(v8Options);
}

describe("v8Tuning", () => {
  const tuning = v8Tuning(process.versions.v8);

  it("has a row for the V8 of every supported node, and none for one that was not tried", () => {
    for (const version of ["11.3.244.8-node.46", "12.4.254.21-node.33", "13.6.233.17-node.50", "14.2.1"])
      expect(v8Tuning(version), version).to.not.equal(undefined);
    expect(v8Tuning("15.0.1")).to.equal(undefined);
  });

  it("sets flags that this V8 knows", () => {
    const flags = [...(tuning?.delayOptimisation ?? []), ...(tuning?.optimise ?? [])];
    expect(flags).to.not.have.length(0);
    const others = ["--bytecode-old-age=2", "--incremental-marking-hard-trigger=15"];
    expect([...flags, ...others].filter((flag) => !isOfV8(flag))).to.deep.equal([]);
  });

  it("ends with V8's own values", () => {
    const own = (name: string): string | undefined =>
      new RegExp(`default: --${name}=(\\d+)`).exec(v8Options)?.[1];
    const set = (tuning?.optimise ?? []).map((flag) => flag.slice(2).split("="));
    const withValue = set.filter(([, value]) => value !== undefined);
    expect(withValue).to.not.have.length(0);
    for (const [name = "", value] of withValue) expect(value, name).to.equal(own(name));
    expect(String(tuning?.bytecodeAge)).to.equal(own("bytecode-old-age"));
  });

  it("is checked by what can fail", () => {
    expect(isOfV8("--interrupt-budgets=1")).to.equal(false);
  });
});

for (const [name, { nodeFlags, environment }] of Object.entries({ agent: agentImage, proxy: proxyImage }))
  describe(`the entrypoint of the ${name}'s image`, () => {
    it("has flags that this node knows, and starts without printing anything", () => {
      const unknown = nodeFlags.filter((flag) => !isOfV8(flag) && !nodeOptions.has(flag.split("=")[0] ?? ""));
      expect(unknown).to.deep.equal([]);
      const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeFlags, "-e", "0"], {
        encoding: "utf8",
        env: environment,
      });
      expect({ status, stdout, stderr }).to.deep.equal({ status: 0, stdout: "", stderr: "" });
    });
  });
