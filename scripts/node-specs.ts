import { existsSync } from "node:fs";
import path from "node:path";

const folder = "test/node";

/**
 * mocha's arguments for `npm run test:node -- …`: options of mocha, and files, which may be named as `memory` for test/node/memory.test.ts. Without a
 * file, all but the tests of memory, which measure what containers are charged for, and want a machine on which nothing else is going on; and
 * upstream's suite, which takes what nothing else does.
 */
export function nodeSpecs(args: readonly string[]): string[] {
  const given = args.map((arg) => {
    const file = `${folder}/${arg}.test.ts`;
    return /^[\w-]+$/.test(arg) && existsSync(path.resolve(import.meta.dirname, "..", file)) ? file : arg;
  });
  return given.some((arg) => arg.endsWith(".test.ts"))
    ? given
    : [...given, `${folder}/!(memory|upstream).test.ts`];
}
