import { expect } from "chai";
import { readdirSync } from "node:fs";
import { nodeSpecs } from "./node-specs.js";

describe("which tests on a node are run", () => {
  it("is all but those of memory and upstream's suite, unless files are named", () => {
    expect(nodeSpecs([], "gate")).to.deep.equal([
      "test/node/!(memory|upstream|agent-rollout|source-credentials).test.ts",
    ]);
    expect(nodeSpecs(["--grep", "Pod"], "gate")).to.deep.equal([
      "--grep",
      "Pod",
      "test/node/!(memory|upstream|agent-rollout|source-credentials).test.ts",
    ]);
  });

  it("is what is left to the night, too, at full scale", () => {
    expect(nodeSpecs([], "full")).to.deep.equal(["test/node/!(memory|upstream).test.ts"]);
    expect(nodeSpecs(["agent-rollout"])).to.deep.equal(["test/node/agent-rollout.test.ts"]);
  });

  it("is a file that is named by a word or as a path, with mocha's options", () => {
    expect(nodeSpecs(["memory", "--bail"])).to.deep.equal(["test/node/memory.test.ts", "--bail"]);
    expect(nodeSpecs(["test/node/sidecar.test.ts"])).to.deep.equal(["test/node/sidecar.test.ts"]);
  });

  it("takes a word that is no file as the value of an option", () => {
    expect(nodeSpecs(["--grep", "kubelet"])[1]).to.equal("kubelet");
  });

  it("leaves out no file in a folder below, since there is none", () => {
    const folders = readdirSync("test/node", { withFileTypes: true }).filter((each) => each.isDirectory());
    const below = folders.flatMap(({ name }) => readdirSync(`test/node/${name}`));
    expect(below.filter((name) => name.endsWith(".test.ts"))).to.deep.equal([]);
  });
});
