import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { FileTree, type TreeScan } from "./file-tree.js";
import { TreeChanges } from "./tree-changes.js";

describe("FileTree", () => {
  let directory: TempDirectory;
  let tree: FileTree;
  beforeEach(async () => {
    directory = new TempDirectory();
    for (let i = 0; i < 200; i++) {
      mkdirSync(directory.file(`d${i}`));
      writeFileSync(directory.file(`d${i}/a.json`), "1");
    }
    tree = new FileTree(directory.path, { accepts: (name) => name.endsWith(".json") }, { maxBytes: 1_000 });
    const changes = new TreeChanges();
    changes.addAll();
    await tree.scan(changes);
  });
  afterEach(() => directory.remove());

  const scanAfter = (...events: [directory: string, name?: string][]): Promise<TreeScan> => {
    const changes = new TreeChanges();
    for (const [name, entry] of events) tree.addEvent(changes, directory.file(name), entry);
    return tree.scan(changes);
  };

  it("examines one file of one directory after an event of it", async () => {
    // Without an event, this one is not noticed: so nothing else is examined.
    rmSync(directory.file("d8/a.json"));
    writeFileSync(directory.file("d7/a.json"), "22");
    const { examined } = await scanAfter(["d7", "a.json"]);
    expect([...examined]).to.deep.equal([directory.file("d7/a.json")]);
    expect(tree.at(directory.file("d7/a.json"))).to.include({ size: 2 });
    expect(tree.at(directory.file("d8/a.json"))).to.include({ size: 1 });
    await scanAfter(["d8"]);
    expect(tree.at(directory.file("d8/a.json"))).to.equal(undefined);
  });

  it("reads a directory with all below it when another took its name", async () => {
    mkdirSync(directory.file("..other/deep"), { recursive: true });
    writeFileSync(directory.file("..other/deep/b.json"), "3");
    rmSync(directory.file("d7"), { recursive: true });
    renameSync(directory.file("..other"), directory.file("d7"));
    const { examined } = await scanAfter(["", "d7"]);
    expect([...examined]).to.have.members(
      ["d7", "d7/a.json", "d7/deep/b.json"].map((name) => directory.file(name)),
    );
    expect(tree.at(directory.file("d7/a.json"))).to.equal(undefined);
    expect(tree.at(directory.file("d7/deep/b.json"))).to.include({ size: 1 });
  });

  it("examines links again when what they may lead by has changed", async () => {
    mkdirSync(directory.file("..v1"));
    mkdirSync(directory.file("..v2"));
    writeFileSync(directory.file("..v1/x.json"), "1");
    writeFileSync(directory.file("..v2/x.json"), "22");
    symlinkSync("..v1", directory.file("..data"));
    symlinkSync("../..data/x.json", directory.file("d9/x.json"));
    symlinkSync("../d7/a.json", directory.file("d9/y.json"));
    await scanAfter(["d9", "x.json"], ["d9", "y.json"]);
    expect(tree.at(directory.file("d9/x.json"))).to.include({ size: 1 });
    symlinkSync("..v2", directory.file("..next"));
    renameSync(directory.file("..next"), directory.file("..data"));
    await scanAfter(["", "..data"]);
    expect(tree.at(directory.file("d9/x.json"))).to.include({ size: 2 });
    writeFileSync(directory.file("d7/a.json"), "333");
    await scanAfter(["d7", "a.json"]);
    expect(tree.at(directory.file("d9/y.json"))).to.include({ size: 3 });
  });

  it("examines everything after more events than the kernel may have kept", async () => {
    rmSync(directory.file("d8/a.json"));
    await scanAfter(...Array.from({ length: 5_000 }, (): [string, string] => ["d7", "a.json"]));
    expect(tree.at(directory.file("d8/a.json"))).to.equal(undefined);
  });
});
