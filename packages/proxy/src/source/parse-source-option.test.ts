import { resolve } from "node:path";
import { expect } from "chai";
import { ProxyError } from "../proxy-error.js";
import { parseSourceOption } from "./parse-source-option.js";

describe("parseSourceOption", () => {
  it("reads a directory", () => {
    expect(parseSourceOption("dir:/etc/flags")).to.deep.equal({ kind: "directory", path: "/etc/flags" });
    expect(parseSourceOption("dir:a:b/../c")).to.deep.equal({ kind: "directory", path: resolve("c") });
    expect(parseSourceOption("dir:~/flags").path).to.equal(resolve("~/flags"));
  });

  for (const value of ["", "dir:", "dir", "/etc/flags", "kubernetes:", "DIR:/etc/flags"]) {
    it(`says what to write instead of "${value}"`, () => {
      expect(() => parseSourceOption(value))
        .to.throw(ProxyError, "--source dir:PATH")
        .with.property("code", "OPTION_INVALID");
    });
  }
});
