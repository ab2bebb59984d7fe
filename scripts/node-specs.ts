import { existsSync } from "node:fs";
import path from "node:path";

const folder = "test/node";

/** Files of the night: each takes minutes of its own, and test/cluster has the same with a kubelet that the test plays. */
const ofNight = ["agent-rollout", "source-credentials"];

/**
 * mocha's arguments for `npm run test:node -- …`: options of mocha, and files, which may be named as `memory` for test/node/memory.test.ts. Without a
 * file, all but the tests of memory, which measure what containers are charged for, and want a machine on which nothing else is going on; and
 * upstream's suite, which takes what nothing else does; nor what is left to the night, unless `scale` is full.
 */
export function nodeSpecs(args: readonly string[], scale = process.env["BUNTING_TEST_SCALE"]): string[] {
  const given = args.map((arg) => {
    const file = `${folder}/${arg}.test.ts`;
    return /^[\w-]+$/.test(arg) && existsSync(path.resolve(import.meta.dirname, "..", file)) ? file : arg;
  });
  const leftOut = ["memory", "upstream", ...(scale === "full" ? [] : ofNight)];
  return given.some((arg) => arg.endsWith(".test.ts"))
    ? given
    : [...given, `${folder}/!(${leftOut.join("|")}).test.ts`];
}
