import mocha, { type Context, type RootHookObject, type Suite } from "mocha";
import { patience, patient } from "./patience.js";

/** Gives all tests and hooks the patience of this run: those that their files define here, and what they say when they run in `Context`. */
export const mochaHooks: RootHookObject = {
  beforeAll(this: Context) {
    if (patience === 1) return;
    const root = this.test?.parent;
    if (root !== undefined) lengthen(root);
    const { prototype } = mocha.Context;
    const original = Object.getOwnPropertyDescriptor(prototype, "timeout")?.value as (ms?: number) => unknown;
    prototype.timeout = function (this: unknown, ms?: number) {
      return ms === undefined ? original.call(this) : original.call(this, patient(ms));
    } as typeof prototype.timeout;
  },
};

/** The tests and hooks of a suite are the runnables in its lists; mocha has no other name for hooks. */
export function lengthen(suite: Suite, longer = patient): void {
  for (const list of Object.values(suite) as unknown[]) {
    if (!Array.isArray(list)) continue;
    for (const each of list as unknown[])
      if (each instanceof mocha.Runnable) each.timeout(longer(each.timeout()));
  }
  for (const inner of suite.suites) lengthen(inner, longer);
}
