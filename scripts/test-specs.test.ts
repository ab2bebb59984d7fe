import { existsSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { mochaCount } from "./mocha-count.js";
import { filesOfScale, nightFiles } from "./night-files.js";
import { readDurations } from "./recorded-times.js";
import { allTestFiles } from "./test-files.js";
import { groupsOf, packed, startPrograms, testArguments } from "./test-specs.js";

const root = path.dirname(import.meta.dirname);

describe("the arguments of npm test", () => {
  it("are all files but those of the night, each in one group, if there are none", () => {
    const { groups, files, isAll } = testArguments([]);
    expect(groups.flat().sort()).to.deep.equal([...filesOfScale(allTestFiles())].sort());
    expect(files).to.deep.equal(allTestFiles());
    expect(groups.length).to.be.within(1, mochaCount());
    expect(isAll).to.equal(true);
    expect(startPrograms(files)).to.equal(true);
  });

  it("are the files of a folder, without what needs a build for a package", () => {
    const { groups, files, isAll } = testArguments(["packages/runtime/"]);
    expect(groups.flat()).to.include("packages/runtime/src/scheduling/backoff.test.ts");
    expect(groups.flat().filter((file) => !file.startsWith("packages/runtime/src/"))).to.deep.equal([]);
    expect(isAll).to.equal(false);
    expect(startPrograms(files)).to.equal(false);
  });

  it("are files of the night, too, if their folder is named, or a test is looked for by its name", () => {
    const [night = ""] = Object.keys(nightFiles);
    expect(testArguments([path.dirname(night)]).groups.flat()).to.include(night);
    expect(testArguments(["--grep", "relist"]).groups.flat()).to.include(night);
  });

  it("are one group with an option of mocha, whose tests may be in any file", () => {
    const { groups } = testArguments(["--grep", "relist", "packages/kube"]);
    expect(groups).to.have.lengthOf(1);
    expect(groups[0]?.slice(0, 2)).to.deep.equal(["--grep", "relist"]);
  });

  it("are refused where there is nothing, since all tests would run instead", () => {
    expect(() => testArguments(["packages/nowhere"])).to.throw("there is no file or folder packages/nowhere");
    expect(() => testArguments(["docs"])).to.throw("there are no tests in docs");
  });

  it("know the option of their own", () => {
    expect(testArguments(["--record-times", "scripts"])).to.deep.include({ recordTimes: true, options: [] });
  });
});

describe("packing by recorded times", () => {
  it("starts more mochas for who wants to wait less", () => {
    const files = ["packages/runtime/src/scheduling/backoff.test.ts", "packages/runtime/src/clock.test.ts"];
    expect(groupsOf([], files, 0.1)).to.have.lengthOf(2);
    expect(groupsOf([], files)).to.have.lengthOf(1);
    expect(groupsOf(["--bail"], files, 0.1)).to.have.lengthOf(1);
  });

  it("starts no second mocha for what takes seconds", () => {
    expect(
      packed(["packages/runtime/src/scheduling/backoff.test.ts", "packages/runtime/src/clock.test.ts"], 4),
    ).to.have.lengthOf(1);
  });

  it("gives each of four mochas work for as long, so that none is left alone at the end", () => {
    const durations = readDurations();
    const groups = packed(allTestFiles(), 4);
    const seconds = groups.map((group) => group.reduce((sum, file) => sum + (durations.get(file) ?? 2), 0));
    expect(groups).to.have.lengthOf(4);
    expect(Math.max(...seconds) - Math.min(...seconds)).to.be.lessThan(5);
  });

  it("knows files that are there", () => {
    const gone = [...readDurations().keys()].filter((file) => !existsSync(path.join(root, file)));
    // Some may be moved before the next recording; where most are gone, packing is by chance.
    expect(gone.length).to.be.lessThan(readDurations().size / 2);
  });
});

describe("the number of mochas", () => {
  it("is twice that of the cores, or what the environment says", () => {
    expect(mochaCount({}, 2)).to.equal(4);
    expect(mochaCount({}, 64)).to.equal(12);
    expect(mochaCount({ BUNTING_TEST_PROCESSES: "3" }, 2)).to.equal(3);
    expect(() => mochaCount({ BUNTING_TEST_PROCESSES: "many" }, 2)).to.throw(
      /BUNTING_TEST_PROCESSES is "many"/,
    );
  });
});
