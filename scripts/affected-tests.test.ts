import { expect } from "chai";
import { affectedTests } from "./affected-tests.js";
import { ImportGraph } from "./imports/import-graph.js";
import { readImports } from "./imports/read-imports.js";

describe("affectedTests", () => {
  const texts = {
    "packages/kube/src/list.ts": "export const list = 1;",
    "packages/kube/src/list.test.ts": 'import "./list.js";',
    "packages/kube/src/list.fixture.ts": "export const fixture = 1;",
    "packages/kube/src/other.test.ts": 'import "./list.fixture.js";',
    "test/integration/proxy.test.ts": 'import "../support/proxy.js";',
    "test/integration/lists.test.ts": 'import "../../packages/kube/src/list.js";',
    "test/support/proxy.ts": "export const proxy = 1;",
  };
  const files = Object.entries(texts).map(([file, text]) => [file, readImports(file, text)] as const);
  const graph = new ImportGraph(new Map(files), new Map());
  const tests = Object.keys(texts).filter((file) => file.endsWith(".test.ts"));

  it("are those that depend on a change, and others start the programs that are built of it", () => {
    expect(affectedTests(graph, ["packages/kube/src/list.ts"], tests)).to.deep.equal({
      files: ["packages/kube/src/list.test.ts", "test/integration/lists.test.ts"],
      startPrograms: ["test/integration/proxy.test.ts"],
      unknown: [],
    });
  });

  it("start no programs for a change of tests and what only they use", () => {
    const changed = ["packages/kube/src/list.fixture.ts", "test/support/proxy.ts"];
    expect(affectedTests(graph, changed, tests)).to.deep.include({
      files: ["packages/kube/src/other.test.ts", "test/integration/proxy.test.ts"],
      startPrograms: [],
    });
  });

  it("are chosen among those that were asked for only", () => {
    expect(affectedTests(graph, ["packages/kube/src/list.ts"], [tests[1] ?? ""]).files).to.deep.equal([]);
  });

  it("say which changes no test is known to depend on, but of documents nobody expects that", () => {
    const changed = ["package.json", "README.md", "packages/kube/src/list.ts"];
    expect(affectedTests(graph, changed, tests).unknown).to.deep.equal(["package.json"]);
  });
});
