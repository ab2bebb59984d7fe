import path from "node:path";
import fc from "fast-check";
import type { Context, RootHookObject, Test } from "mocha";
import { testSeed } from "./seed.js";

fc.configureGlobal({ seed: testSeed });

/** Steps whose tests are not run by `npm test`; each is a folder of this name too. */
const steps = ["cluster", "helm", "images", "node"];

export const mochaHooks: RootHookObject = {
  afterEach(this: Context) {
    const { currentTest: test } = this;
    if (test?.state === "failed" && isRandom(test))
      console.error(`bunting: to repeat: ${repetitionOf(test)}`);
  },
};

/** A property of fast-check says its seed when it fails, and a model says it in its title. */
export function isRandom(test: Pick<Test, "err" | "fullTitle">): boolean {
  return /\bseed:? \d+/.test(`${test.fullTitle()} ${test.err?.message}`);
}

export function repetitionOf({ file = "" }: Pick<Test, "file">): string {
  const relative = path.relative(path.resolve(import.meta.dirname, "../.."), file);
  const step = steps.find((each) => relative.startsWith(`test/${each}/`));
  const script = step === undefined ? "npm test" : `npm run test:${step}`;
  return `BUNTING_TEST_SEED=${testSeed} ${script} -- ${relative}`;
}
