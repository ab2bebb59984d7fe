import { existsSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import { filesOfScale } from "./night-files.js";
import { packFiles } from "./pack-files.js";
import { readDurations, secondsOf } from "./recorded-times.js";
import { allTestFiles, testFilesBelow } from "./test-files.js";
import type { TestGroups } from "./test-groups.js";
import { mochaCount } from "./mocha-count.js";

/** A mocha more is worth its start only if the others have this much less to do, in seconds. */
const leastSeconds = 15;

export interface TestArguments {
  /**
   * For mocha: options as given, and what to run as files and globs. Several groups only if no option is given and it saves time. Without any argument,
   * they leave out what is left to the night.
   */
  readonly groups: TestGroups;
  /** What the groups are made of: mocha's options, and the files and globs. */
  readonly options: readonly string[];
  readonly files: readonly string[];
  /** No file or folder was named: all tests are meant. */
  readonly isAll: boolean;
  /** Write to test/durations.json how long each file has taken. */
  readonly recordTimes: boolean;
}

/**
 * What `npm test -- …` was asked for: `--record-times`, mocha's options, and files, folders or globs; without any of these, all tests.
 *
 * @throws Error if there is nothing at a path, since all tests would run instead.
 */
export function testArguments(argv: readonly string[]): TestArguments {
  const { tokens } = parseArgs({
    args: [...argv],
    options: {
      "record-times": { type: "boolean" },
      // Options whose value could be taken for a folder.
      grep: { type: "string", short: "g" },
      fgrep: { type: "string", short: "f" },
    },
    strict: false,
    tokens: true,
  });
  const specs: string[] = [];
  const dropped = new Set<number>();
  const own = new Set<string>();
  let followsOption = false;
  for (const token of tokens) {
    if (token.kind === "option" && token.name === "record-times") {
      own.add(token.name);
      dropped.add(token.index);
    }
    if (token.kind === "positional" && (existsSync(token.value) || isGlob(token.value))) {
      specs.push(...filesOf(token.value));
      dropped.add(token.index);
    } else if (token.kind === "positional" && !(followsOption && isPlainWord(token.value))) {
      throw new Error(`there is no file or folder ${token.value}`);
    }
    followsOption = token.kind === "option";
  }
  const options = argv.filter((_, index) => !dropped.has(index));
  const chosen = specs.length === 0 ? allTestFiles() : [...new Set(specs)];
  return {
    // With mocha's options somebody looks for a test, which may be any.
    groups: groupsOf(options, specs.length === 0 && options.length === 0 ? filesOfScale(chosen) : chosen),
    options,
    files: chosen,
    isAll: specs.length === 0,
    recordTimes: own.has("record-times"),
  };
}

/** Several groups, unless an option or a glob is among the arguments. `secondsEach` is what makes one more worth its start. */
export function groupsOf(
  options: readonly string[],
  files: readonly string[],
  secondsEach?: number,
): TestGroups {
  // With --grep or --bail, a group of its own would fail without a test of that name, or go on; a glob has an unknown number of files.
  return options.length > 0 || files.some(isGlob)
    ? [[...options, ...files]]
    : packed(files, mochaCount(), secondsEach);
}

/** Whether any of the files starts the built programs, as those of test/ do. */
export function startPrograms(files: readonly string[]): boolean {
  return !files.every((file) => /^(packages|scripts)\//.test(file));
}

/** Groups that take about as long as each other. */
export function packed(
  files: readonly string[],
  most: number = mochaCount(),
  secondsEach: number = leastSeconds,
): TestGroups {
  const durations = readDurations();
  const seconds = (file: string): number => secondsOf(durations, file);
  const sum = files.reduce((total, file) => total + seconds(file), 0);
  const count = Math.min(most, Math.max(1, Math.ceil(sum / secondsEach)));
  // One that runs alone keeps the order in which the files were named.
  return count === 1 ? [files] : packFiles(files, seconds, count);
}

/** Such as the value of `--reporter dot`: which options of mocha take a value is not known here. */
function isPlainWord(value: string): boolean {
  return !/[/\\]|\.ts$/.test(value);
}

export function isGlob(spec: string): boolean {
  return /[*{]/.test(spec);
}

function filesOf(spec: string): readonly string[] {
  const relative = spec.replace(/^\.\//, "").replace(/\/+$/, "");
  if (isGlob(spec) || !statSync(spec).isDirectory()) return [relative];
  const files = testFilesBelow(relative);
  if (files.length === 0) throw new Error(`there are no tests in ${spec}`);
  return files;
}
