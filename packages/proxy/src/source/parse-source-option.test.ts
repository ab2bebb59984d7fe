import { resolve } from "node:path";
import { expect } from "chai";
import { ProxyError } from "../proxy-error.js";
import { parseSourceOption } from "./parse-source-option.js";

describe("parseSourceOption", () => {
  it("reads a directory", () => {
    expect(parseSourceOption("dir:/etc/flags", true)).to.deep.equal({
      kind: "directory",
      path: "/etc/flags",
    });
    expect(parseSourceOption("dir:a:b/../c", false)).to.deep.equal({ kind: "directory", path: resolve("c") });
    expect(parseSourceOption("dir:~/flags", false)).to.have.property("path", resolve("~/flags"));
  });

  it("takes the cluster where it is named, and in a Pod where nothing is", () => {
    expect(parseSourceOption("kubernetes", false)).to.deep.equal({ kind: "kubernetes" });
    expect(parseSourceOption("", true)).to.deep.equal({ kind: "kubernetes" });
  });

  for (const value of ["", "dir:", "dir", "/etc/flags", "kubernetes:", "DIR:/etc/flags"]) {
    it(`says what to write instead of "${value}"`, () => {
      expect(() => parseSourceOption(value, false))
        .to.throw(ProxyError, "--source dir:PATH")
        .with.property("code", "OPTION_INVALID");
    });
  }

  it("says that upstreams without any name no proxy", () => {
    expect(() => parseSourceOption("upstream:", false)).to.throw(
      ProxyError,
      'the source "upstream:" names no proxy',
    );
  });
});
