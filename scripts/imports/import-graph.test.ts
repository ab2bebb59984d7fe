import { expect } from "chai";
import { ImportGraph } from "./import-graph.js";
import { readImports } from "./read-imports.js";

/** A graph of files with the given texts, in which `@bunting/kube` is packages/kube. */
function graphOf(texts: Readonly<Record<string, string>>): ImportGraph {
  const files = Object.entries(texts).map(([file, text]) => [file, readImports(file, text)] as const);
  const kube = { ".": "packages/kube/src/index.ts", "./internal/*.js": "packages/kube/src/*.ts" };
  return new ImportGraph(new Map(files), new Map([["@bunting/kube", kube]]), (file) => file in texts);
}

describe("ImportGraph", () => {
  const index = "packages/kube/src/index.ts";
  const texts = {
    [index]: 'export { list } from "./list.js"; export { watch as follow } from "./watch.js";',
    "packages/kube/src/list.ts": 'import { get } from "./get.js"; export const list = get;',
    "packages/kube/src/watch.ts": "export const watch = 1;",
    "packages/kube/src/get.ts": "export const get = 1;",
    "packages/kube/src/list.test.ts": 'import { list } from "./list.js";',
    "test/lists.test.ts": 'import { list } from "@bunting/kube";',
    "test/follows.test.ts": 'import { follow } from "@bunting/kube";',
    "test/all.test.ts": 'import * as kube from "@bunting/kube";',
    "test/inside.test.ts": 'import { get } from "@bunting/kube/internal/get.js";',
    "test/types.test.ts": 'import type { list } from "@bunting/kube";',
    "test/child.test.ts": 'fork("worker.child.ts"); read("test/flags.json");',
    "test/worker.child.ts": 'import "./worker.js";',
    "test/worker.ts": "export {};",
    "test/flags.json": "",
  };
  const testsOf = (...changed: string[]): string[] =>
    [...graphOf(texts).dependents(changed)].filter((file) => file.endsWith(".test.ts")).sort();

  it("follows imports through other files and, by name, through an index", () => {
    expect(testsOf("packages/kube/src/get.ts")).to.deep.equal([
      "packages/kube/src/list.test.ts",
      "test/all.test.ts",
      "test/inside.test.ts",
      "test/lists.test.ts",
    ]);
  });

  it("takes a renamed export for what it is in its own file", () => {
    expect(testsOf("packages/kube/src/watch.ts")).to.deep.equal(["test/all.test.ts", "test/follows.test.ts"]);
  });

  it("does not run the users of a package for a change of its index", () => {
    expect(testsOf(index)).to.deep.equal([]);
  });

  it("follows the names of child processes and documents", () => {
    expect(testsOf("test/worker.ts")).to.deep.equal(["test/child.test.ts"]);
    expect(testsOf("test/flags.json")).to.deep.equal(["test/child.test.ts"]);
  });

  it("has a changed test among its dependents", () => {
    expect(testsOf("test/types.test.ts")).to.deep.equal(["test/types.test.ts"]);
  });

  it("follows all names that an index passes on, through another index too", () => {
    const graph = graphOf({
      "a.ts": "export const a = 1;",
      "b.ts": "export const b = 1;",
      "inner.ts": 'export * from "./a.js"; export * from "./b.js";',
      "outer.ts": 'export * from "./inner.js";',
      "a.test.ts": 'import { a } from "./outer.js";',
    });
    expect([...graph.dependents(["a.ts"])]).to.deep.equal(["a.ts", "a.test.ts"]);
    expect([...graph.dependents(["b.ts"])]).to.deep.equal(["b.ts"]);
  });

  it("follows a name that two indexes rename one after the other", () => {
    const graph = graphOf({
      "a.ts": "export const a = 1;",
      "b.ts": "export const b = 1;",
      "inner.ts": 'export { a as first } from "./a.js"; export { b as second } from "./b.js";',
      "outer.ts": 'export { first as second } from "./inner.js";',
      "a.test.ts": 'import { second } from "./outer.js";',
    });
    expect([...graph.dependents(["a.ts"])]).to.deep.equal(["a.ts", "a.test.ts"]);
    expect([...graph.dependents(["b.ts"])]).to.deep.equal(["b.ts"]);
  });

  it("tells what a file names, types and the index included", () => {
    expect([...graphOf(texts).imported("test/types.test.ts")]).to.deep.equal([index]);
  });
});
