import type { ImportGraph } from "./imports/import-graph.js";

/** The tests that a change of files can break. */
export interface AffectedTests {
  readonly files: readonly string[];
  /** Tests which start the built programs, and do not import what has changed: they may break all the same. */
  readonly startPrograms: readonly string[];
  /** What has changed and no test is known to depend on, such as a package.json. */
  readonly unknown: readonly string[];
}

/** @param tests the files of tests to choose from. */
export function affectedTests(
  graph: ImportGraph,
  changed: readonly string[],
  tests: readonly string[],
): AffectedTests {
  const dependents = graph.dependents(changed);
  const files = tests.filter((file) => dependents.has(file));
  const hasProductChanged = changed.some(isOfProduct);
  return {
    files,
    startPrograms: hasProductChanged
      ? tests.filter((file) => file.startsWith("test/") && !dependents.has(file))
      : [],
    unknown: changed.filter((file) => !file.endsWith(".md") && !reachesTest(graph, file)),
  };
}

function reachesTest(graph: ImportGraph, file: string): boolean {
  return [...graph.dependents([file])].some((dependent) => dependent.endsWith(".test.ts"));
}

function isOfProduct(file: string): boolean {
  return /^packages\/[^/]+\/src\//.test(file) && !/\.(test|fixture|child)\.ts$/.test(file);
}
