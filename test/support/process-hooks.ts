import type { Context, RootHookObject } from "mocha";
import { lastWords } from "./last-words.js";

/** After a failed test, prints what its processes have said last: the reason is there, and nobody can ask them later. */
export const mochaHooks: RootHookObject = {
  afterEach(this: Context) {
    const { currentTest: test } = this;
    const said = test?.state === "failed" ? lastWords.said() : "";
    lastWords.forgetEnded();
    if (said === "") return;
    console.error(`bunting: what the processes of "${test?.fullTitle()}" said last:\n${said}`);
  },
};
