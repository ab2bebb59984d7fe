import path from "node:path";
import { expect } from "chai";
import { releaseOptions } from "./release-options.js";

describe("the options of npm run release", () => {
  it("refuse to publish, and say who does", () => {
    expect(() => releaseOptions([])).to.throw(/release\.yaml.*npm run release -- --dry-run/);
  });

  it("make everything in ./release of a clean tree", () => {
    expect(releaseOptions(["--dry-run"])).to.deep.equal({
      parts: ["packages", "charts", "docs", "examples", "images"],
      directory: path.resolve("release"),
      allowDirty: false,
      tag: undefined,
    });
  });

  it("choose parts, and refuse one that does not exist", () => {
    expect(releaseOptions(["--dry-run", "--only", "charts,packages"]).parts).to.deep.equal([
      "packages",
      "charts",
    ]);
    expect(() => releaseOptions(["--dry-run", "--only", "chart"])).to.throw(
      '--only names "chart", which is none of packages, charts, docs, examples, images',
    );
  });

  it("refuse what is unknown", () => {
    expect(() => releaseOptions(["--dry-run", "--push"])).to.throw("--push");
  });
});
