import { expect } from "chai";
import { readdirSync } from "node:fs";
import { nodeSpecs } from "./node-specs.js";

describe("which tests on a node are run", () => {
  const all = readdirSync("test/node")
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/node/${name}`);
  const [memory, rollout, upstream] = ["memory", "agent-rollout", "upstream"].map(
    (name) => `test/node/${name}.test.ts`,
  );

  it("is all but those of memory and upstream's suite, unless files are named", () => {
    const specs = nodeSpecs([], "gate");
    expect(all).to.include.members([memory, rollout, upstream, ...specs]);
    expect(specs).to.include("test/node/pod-start.test.ts");
    for (const leftOut of [memory, rollout, upstream]) expect(specs).not.to.include(leftOut);
    expect(nodeSpecs(["--grep", "Pod"], "gate")).to.deep.equal(["--grep", "Pod", ...specs]);
  });

  it("is what is left to the night, too, at full scale", () => {
    const apart = [memory, upstream];
    expect([...nodeSpecs([], "full")].sort()).to.deep.equal(
      all.filter((file) => !apart.includes(file)).sort(),
    );
    expect(nodeSpecs(["agent-rollout"])).to.deep.equal([rollout]);
  });

  it("is a file that is named by a word or as a path, with mocha's options", () => {
    expect(nodeSpecs(["memory", "--bail"])).to.deep.equal(["test/node/memory.test.ts", "--bail"]);
    expect(nodeSpecs(["test/node/sidecar.test.ts"])).to.deep.equal(["test/node/sidecar.test.ts"]);
  });

  it("takes a word that is no file as the value of an option", () => {
    expect(nodeSpecs(["--grep", "kubelet"])[1]).to.equal("kubelet");
  });
});
