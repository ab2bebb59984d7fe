import { expect } from "chai";
import { loopOptions } from "./loop-options.js";

describe("loopOptions", () => {
  it("takes its own options out, wherever they are, and leaves the others as they were", () => {
    const argv = ["--fast", "packages/kube", "--since", "main", "--grep", "relist", "-w"];
    expect(loopOptions(argv)).to.deep.equal({
      since: "main",
      isFast: true,
      isWatching: true,
      rest: ["packages/kube", "--grep", "relist"],
    });
    expect(loopOptions(["--since=HEAD~2", "--watch"])).to.include({ since: "HEAD~2", isWatching: true });
  });

  it("is all tests without any of them", () => {
    expect(loopOptions(["--bail"])).to.deep.equal({
      since: undefined,
      isFast: false,
      isWatching: false,
      rest: ["--bail"],
    });
  });

  it("refuses --since without a commit", () => {
    for (const argv of [["--since"], ["--since="], ["--since", "--fast"]])
      expect(() => loopOptions(argv)).to.throw("--since takes a commit");
  });
});
