import { subscribe } from "node:diagnostics_channel";
import type { Context, RootHookObject } from "mocha";
import { lastWords } from "./last-words.js";

/** After a failed test, prints what its processes have said last: the reason is there, and nobody can ask them later. */
export const mochaHooks: RootHookObject = {
  afterEach(this: Context) {
    const { currentTest: test } = this;
    if (test?.state === "failed") show(test.fullTitle());
    lastWords.forgetEnded();
  },
};

// The reporter tells of a hook: mocha calls no afterEach after a failed `before`, which is where most processes are started.
subscribe("bunting:failed-hook", (title) => {
  show(String(title));
  lastWords.forgetEnded();
});

function show(title: string): void {
  const said = lastWords.said();
  if (said !== "") console.error(`bunting: what the processes of "${title}" said last:\n${said}`);
}
