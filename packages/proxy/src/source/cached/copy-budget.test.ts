import { copyFileSuffix } from "@bunting/files/copies";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { withoutDescriptors } from "@bunting/test/support/without-descriptors.js";
import { expect } from "chai";
import { truncateSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { CopyBudget } from "./copy-budget.js";

describe("CopyBudget", () => {
  let directory: TempDirectory;
  let removed: string[];
  beforeEach(() => {
    directory = new TempDirectory();
    removed = [];
  });
  afterEach(() => directory.remove());

  /** A copy of this size, written so many seconds after the others. */
  function copy(name: string, bytes: number, second: number): void {
    const file = directory.file(`${name}${copyFileSuffix}`);
    writeFileSync(file, "");
    truncateSync(file, bytes);
    utimesSync(file, second, second);
  }

  async function counted(maxBytes: number): Promise<CopyBudget> {
    const onRemoved = (file: string): void => void removed.push(path.basename(file, copyFileSuffix));
    const budget = new CopyBudget(directory.path, maxBytes, onRemoved);
    await budget.count();
    return budget;
  }

  it("removes the copies that were written longest ago", async () => {
    for (const [index, name] of ["first", "second", "third"].entries()) copy(name, 400, index + 1);
    const budget = await counted(1_000);
    expect(removed).to.deep.equal(["first"]);
    budget.written(directory.file(`second${copyFileSuffix}`), 500);
    budget.written(directory.file(`fourth${copyFileSuffix}`), 300);
    expect(removed).to.deep.equal(["first", "third"]);
  });

  it("counts with the next write what it had no descriptor left to count", async () => {
    for (const [index, name] of ["first", "second"].entries()) copy(name, 400, index + 1);
    const budget = await withoutDescriptors(() => counted(1_000));
    const third = directory.file(`third${copyFileSuffix}`);
    expect([budget.hasAny, budget.mayHave(third)]).to.deep.equal([false, true]);
    const sizes = [100, 200, 300];
    await Promise.all(sizes.map((size) => budget.counted(third, () => Promise.resolve(size))));
    expect([removed, budget.hasAny]).to.deep.equal([["first"], true]);
    expect(budget.mayHave(directory.file(`fourth${copyFileSuffix}`))).to.equal(false);
  });

  it("removes no file before it is replaced, when it counts for that write", async () => {
    for (const [index, name] of ["first", "second", "third"].entries()) copy(name, 400, index + 1);
    const budget = await withoutDescriptors(() => counted(1_000));
    // The removal would not be waited for, and could come after the new file has the name.
    await budget.counted(directory.file(`first${copyFileSuffix}`), () => Promise.resolve(100));
    expect(removed).to.deep.equal([]);
  });

  it("removes a file that is larger than all copies may be before any other, however new it is", async () => {
    for (const [index, name] of ["first", "second"].entries()) copy(name, 400, index + 1);
    copy("huge", 1_000_000, 3);
    await counted(1_000);
    expect(removed).to.deep.equal(["huge"]);
  });

  it("removes no file that is just being replaced, but makes room afterwards, also if that fails", async () => {
    for (const [index, name] of ["first", "second"].entries()) copy(name, 400, index + 1);
    const budget = await counted(1_000);
    const [first = "", second = ""] = ["first", "second"].map((name) =>
      directory.file(`${name}${copyFileSuffix}`),
    );
    await budget.counted(first, () => {
      // By now the new file may have the name, and not be counted yet.
      budget.written(second, 900);
      return Promise.resolve(50);
    });
    expect(removed).to.deep.equal([]);
    const failing = budget.counted(second, () => {
      budget.written(first, 200);
      return Promise.reject(new Error("the disk is full"));
    });
    expect(removed).to.deep.equal([]);
    await failing.catch(() => undefined);
    expect(removed).to.deep.equal(["first"]);
  });

  it("removes no other for a copy that is larger than all may be when it is written", async () => {
    for (const [index, name] of ["first", "second"].entries()) copy(name, 400, index + 1);
    const budget = await counted(1_000);
    budget.written(directory.file(`huge${copyFileSuffix}`), 1_001);
    expect(removed).to.deep.equal(["huge"]);
    budget.written(directory.file(`third${copyFileSuffix}`), 200);
    expect(removed).to.deep.equal(["huge"]);
  });
});
