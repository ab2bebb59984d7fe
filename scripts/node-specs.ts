import { existsSync } from "node:fs";
import path from "node:path";
import { testScale, type TestScale } from "../test/support/scale.js";
import { filesOfScale } from "./night-files.js";
import { testFilesBelow } from "./test-files.js";

const folder = "test/node";
/** Each is run by a script of its own. */
const apart = [`${folder}/memory.test.ts`, `${folder}/upstream.test.ts`];

/**
 * mocha's arguments for `npm run test:node -- …`: options of mocha, and files, which may be named as `memory` for test/node/memory.test.ts. Without a
 * file, all but the tests of memory, which measure what containers are charged for, and want a machine on which nothing else is going on; and
 * upstream's suite, which takes what nothing else does; nor what is left to the night, unless `scale` is full.
 */
export function nodeSpecs(args: readonly string[], scale: TestScale = testScale): string[] {
  const given = args.map((arg) => {
    const file = `${folder}/${arg}.test.ts`;
    return /^[\w-]+$/.test(arg) && existsSync(path.resolve(import.meta.dirname, "..", file)) ? file : arg;
  });
  if (given.some((arg) => arg.endsWith(".test.ts"))) return given;
  const files = testFilesBelow(folder).filter((file) => !apart.includes(file));
  return [...given, ...filesOfScale(files, scale)];
}
