import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { agreedVersion, statedVersions } from "./stated-versions.js";

const root = path.resolve(import.meta.dirname, "../..");

describe("the version of a release", () => {
  const copy = mkdtempSync(path.join(tmpdir(), "bunting-versions-"));
  const files = [...new Set(statedVersions(root).map(({ file }) => file))];
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    version: string;
  };
  before(() => {
    for (const file of files) {
      mkdirSync(path.dirname(path.join(copy, file)), { recursive: true });
      cpSync(path.join(root, file), path.join(copy, file));
    }
  });
  after(() => rmSync(copy, { recursive: true }));

  it("is the one that all files name", () => {
    expect(agreedVersion(root)).to.equal(version);
    for (const file of ["packages/cli/package.json", "deploy/helm/bunting/Chart.yaml", "CHANGELOG.md"])
      expect(files).to.include(file);
  });

  for (const file of files) {
    it(`is refused if ${file} names another in any of its places`, () => {
      const text = readFileSync(path.join(root, file), "utf8");
      for (const { index } of text.matchAll(
        new RegExp(`(?<=[ :="@^])${version.replaceAll(".", "\\.")}(?=["\\s])`, "g"),
      )) {
        // Words of the changelog and of comments may name versions of other things.
        if (!isPlace(text, index)) continue;
        writeFileSync(
          path.join(copy, file),
          `${text.slice(0, index)}9.9.9${text.slice(index + version.length)}`,
        );
        expect(() => agreedVersion(copy), text.slice(index - 20, index)).to.throw(
          file === "package.json" ? "9.9.9" : `${file} says 9.9.9`,
        );
      }
      writeFileSync(path.join(copy, file), text);
      expect(agreedVersion(copy)).to.equal(version);
    });
  }

  function isPlace(text: string, index: number): boolean {
    return /(^## |"version": "|ersion: |VERSION=|tag: "|:)$/m.test(
      text.slice(0, index).split("\n").at(-1) ?? "",
    );
  }
});
