import path from "node:path";
import { testFilesBelow } from "./test-files.js";

/** `x.test.ts` and its like (`x.model.test.ts`) beside `x.ts`, or, where there is none, all tests of its folder. */
export function testsBeside(file: string, testsBelow = testFilesBelow): readonly string[] {
  const folder = path.dirname(file);
  const inFolder = testsBelow(folder).filter((test) => path.dirname(test) === folder);
  const stem = file.replace(/\.ts$/, "");
  const own = inFolder.filter((test) => test.startsWith(`${stem}.`));
  return own.length > 0 ? own : inFolder;
}
