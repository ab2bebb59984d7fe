import { expect } from "chai";
import { closureDigests } from "./closure-digests.js";
import { ImportGraph } from "./import-graph.js";
import { readImports } from "./read-imports.js";

const texts = {
  "packages/kube/src/index.ts": 'export { list } from "./list.js";',
  "packages/kube/src/list.ts": 'import type { Get } from "./get.js"; export const list = (get: Get) => get;',
  "packages/kube/src/get.ts": 'import { list } from "./list.js"; export type Get = typeof list;',
  "packages/kube/src/other.ts": "export const other = 1;",
  "test/lists.test.ts": 'import { list } from "@bunting/kube"; import flags from "./flags.json";',
  "test/flags.json": "{}",
};

function digests(changes: Readonly<Record<string, string>> = {}, common = ""): Map<string, string> {
  const now: Readonly<Record<string, string>> = { ...texts, ...changes };
  const files = Object.keys(now).filter((file) => file.endsWith(".ts"));
  const imports = files.map((file) => [file, readImports(file, now[file] ?? "")] as const);
  const packages = new Map([["@bunting/kube", { ".": "packages/kube/src/index.ts" }]]);
  const graph = new ImportGraph(new Map(imports), packages, (file) => file in now);
  return closureDigests(graph, files, { common, contentOf: (file) => now[file] ?? "" });
}

describe("closureDigests", () => {
  function changedBy(changes: Readonly<Record<string, string>>): string[] {
    const before = digests();
    return [...digests(changes)]
      .filter(([file, digest]) => before.get(file) !== digest)
      .map(([file]) => file);
  }

  it("are the same for the same files", () => {
    expect(digests()).to.deep.equal(digests());
  });

  it("differ from file to file, also where these import each other", () => {
    expect(new Set(digests().values()).size).to.equal(5);
  });

  it("change with what is common to all", () => {
    const before = digests();
    for (const [file, digest] of digests({}, "another version"))
      expect(before.get(file)).not.to.equal(digest);
  });

  it("change with the file itself, and with nothing that it does not import", () => {
    expect(changedBy({ "packages/kube/src/other.ts": "export const other = 2;" })).to.deep.equal([
      "packages/kube/src/other.ts",
    ]);
  });

  it("change with what is imported for its types, through an index and around a circle", () => {
    expect(changedBy({ "packages/kube/src/get.ts": "export type Get = string;" })).to.deep.equal([
      "packages/kube/src/index.ts",
      "packages/kube/src/list.ts",
      "packages/kube/src/get.ts",
      "test/lists.test.ts",
    ]);
  });

  it("change with an imported file that is no source", () => {
    expect(changedBy({ "test/flags.json": '{ "a": 1 }' })).to.deep.equal(["test/lists.test.ts"]);
  });

  it("change when an import begins to find a file", () => {
    const importsMore = { "packages/kube/src/other.ts": 'export * from "./more.js";' };
    const more = { ...importsMore, "packages/kube/src/more.ts": "export {};" };
    const file = "packages/kube/src/other.ts";
    expect(digests(importsMore).get(file)).not.to.equal(digests(more).get(file));
  });
});
