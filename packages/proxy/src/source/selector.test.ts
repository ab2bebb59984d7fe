import { resolve } from "node:path";
import { ProtocolError } from "@bunting/protocol";
import { expect } from "chai";
import { filePathOf, parseSelector } from "./selector.js";

const refusal = (selector: string, allowFileSelectors: boolean): string => {
  try {
    parseSelector(selector, { allowFileSelectors });
  } catch (error) {
    if (error instanceof ProtocolError && error.code === "SELECTOR_INVALID") return error.message;
    throw error;
  }
  throw new Error(`${selector} was accepted`);
};

describe("parseSelector", () => {
  it("reads the names of FeatureFlags", () => {
    for (const allowFileSelectors of [true, false]) {
      expect(parseSelector("team/a", { allowFileSelectors })).to.equal("team/a");
      expect(parseSelector("core.openfeature.dev/team/a", { allowFileSelectors })).to.equal("team/a");
      expect(refusal("nonsense", allowFileSelectors)).to.contain("expected");
    }
  });

  it("refuses files, naming the option, unless they are allowed", () => {
    expect(refusal("file:/etc/flags.json", false)).to.contain("--allow-file-selectors");
    expect(parseSelector("file:/etc/flags.json", { allowFileSelectors: true })).to.equal(
      "file:/etc/flags.json",
    );
  });

  it("makes one topic of every way to write a path", () => {
    const read = (selector: string): string => parseSelector(selector, { allowFileSelectors: true });
    expect(read("file:/etc/../etc//flags.yaml")).to.equal("file:/etc/flags.yaml");
    expect(read("file:///etc/flags.yml")).to.equal("file:/etc/flags.yml");
    expect(read("file:flags.json")).to.equal(`file:${resolve("flags.json")}`);
  });

  it("refuses files that can hold no flags", () => {
    for (const selector of ["file:", "file:/etc/passwd", "file:/etc/shadow.json\0"]) {
      expect(refusal(selector, true)).to.match(/file/);
    }
  });

  it("takes names of files only where the source has files, and no path", () => {
    const read = (selector: string, allowFileNames: boolean): string =>
      parseSelector(selector, { allowFileSelectors: false, allowFileNames });
    expect(read("default/My_flags", true)).to.equal("default/My_flags");
    expect(() => read("default/My_flags", false)).to.throw("which Kubernetes would not accept");
    for (const selector of ["default/..", "default/../etc", "../default/a", "De_fault/a"])
      expect(() => read(selector, true), selector).to.throw("expected");
  });

  it("tells a file's topic from a FeatureFlag's", () => {
    expect(filePathOf(parseSelector("file:/a.json", { allowFileSelectors: true }))).to.equal("/a.json");
    expect(filePathOf("file/a.json")).to.equal(undefined);
  });
});
