import { expect } from "chai";
import { compareVersions, parseVersion } from "./semver.js";

describe("parseVersion", () => {
  it("parses versions with or without a v, and beginnings of versions", () => {
    expect(parseVersion("v1.2.3")).to.deep.equal({ major: "1", minor: "2", patch: "3", prerelease: "" });
    expect(parseVersion("V1")).to.deep.equal(parseVersion("1.0.0"));
    expect(parseVersion("1.2")).to.deep.equal(parseVersion("1.2.0"));
    expect(parseVersion("1.2.3-rc.1+build.5")?.prerelease).to.equal("rc.1");
  });

  it("parses nothing else", () => {
    const none = [
      "",
      "v",
      "vv1",
      "1.",
      "1.2.",
      "1.2.3.4",
      "01.2.3",
      "1.02.3",
      "1.2.3-",
      "1.2.3-01",
      "1.2.3-a..b",
      "1.2.3-.a",
      "1.2.3-a.",
      "1.2.3-a.01.b",
      "1.2.3+",
      "1.2.3+a..b",
      "1-rc",
      "1.2-rc",
      "1.2+b",
      " 1",
      "1 ",
      "-1",
      "1.x",
    ];
    for (const text of none) expect(parseVersion(text), text).to.equal(undefined);
  });

  it("refuses long texts quickly", () => {
    for (const text of ["1".repeat(200_000), "1.".repeat(100_000), "1a".repeat(100_000)]) {
      expect(parseVersion(`1.0.0-${text}!`)).to.equal(undefined);
    }
  });
});

describe("compareVersions", () => {
  it("orders versions as the standard does", () => {
    const ordered = [
      "0.9.9",
      "1.0.0-1",
      "1.0.0-2",
      "1.0.0-11",
      "1.0.0--",
      "1.0.0-A",
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.1.1",
      "1.0.0-alpha.beta",
      "1.0.0-alpha1",
      "1.0.0-alpha1.0",
      "1.0.0-rc.2",
      "1.0.0-rc.11",
      "1.0.0",
      "1.0.1",
      "1.0.10",
      "1.2.0",
      "1.10.0",
      "99999999999999999998.0.0",
      "99999999999999999999.0.0",
    ];
    const versions = ordered.map((text) => parseVersion(text));
    versions.forEach((a, i) =>
      versions.forEach((b, j) => {
        if (a === undefined || b === undefined) throw new Error("every version of the table is one");
        expect(Math.sign(compareVersions(a, b)), `${ordered[i]} ${ordered[j]}`).to.equal(Math.sign(i - j));
      }),
    );
  });

  it("ignores build metadata", () => {
    const [a, b] = [parseVersion("1.0.0+a"), parseVersion("1.0.0+b")];
    expect(a && b && compareVersions(a, b)).to.equal(0);
  });
});
