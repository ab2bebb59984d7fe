import { expect } from "chai";
import { releaseNotes } from "./release-notes.js";

describe("the notes of a release", () => {
  const changelog = `# Changelog

Some words.

## 1.1.0 — not released yet

### What is new

- A flag.

## 1.0.0 — 2026-01-31

The first.
`;

  it("are the section of the version, up to the next", () => {
    expect(releaseNotes(changelog, "1.1.0")).to.equal("### What is new\n\n- A flag.\n");
    expect(releaseNotes(changelog, "1.0.0", true)).to.equal("The first.\n");
  });

  it("are refused for a version without a section, also if its number begins as another's", () => {
    for (const version of ["1.2.0", "1.1", "1.1.0-rc.1"])
      expect(() => releaseNotes(changelog, version)).to.throw(`no section "## ${version}"`);
  });

  it("are refused without the day of the release, if it is one", () => {
    expect(() => releaseNotes(changelog, "1.1.0", true)).to.throw("put the day of the release there");
  });

  it("are refused if nothing is in them", () => {
    expect(() => releaseNotes("## 1.0.0\n\n## 0.9.0\n\nold\n", "1.0.0")).to.throw("is empty");
  });
});
