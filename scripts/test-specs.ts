import { existsSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import { packFiles } from "./pack-files.js";
import { readDurations, secondsOf } from "./recorded-times.js";
import { allTestFiles, testFilesBelow } from "./test-files.js";
import type { TestGroups } from "./test-groups.js";
import { mochaCount } from "./mocha-count.js";

/** A mocha more is worth its start only if the others have this much less to do, in seconds. */
const leastSeconds = 15;

export interface TestArguments {
  /** For mocha: options as given, and what to run as files and globs. Several groups only if no option is given and it saves time. */
  readonly groups: TestGroups;
  readonly watch: boolean;
  /** Write to test/durations.json how long each file has taken. */
  readonly recordTimes: boolean;
  /** Whether a test outside of packages/ and scripts/ runs: those start the built binaries, while unit tests run from sources. */
  readonly needsBuild: boolean;
}

/**
 * What `npm test -- …` was asked for: `--watch`, `--record-times`, mocha's options, and files, folders or globs; without any of these, all tests.
 *
 * @throws Error if there is nothing at a path, since all tests would run instead.
 */
export function testArguments(argv: readonly string[]): TestArguments {
  const { tokens } = parseArgs({
    args: [...argv],
    options: {
      watch: { type: "boolean", short: "w" },
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
    if (token.kind === "option" && (token.name === "watch" || token.name === "record-times")) {
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
  const watch = own.has("watch");
  return {
    // With --grep or --bail, a group of its own would fail without a test of that name, or go on; a glob has an unknown number of files.
    groups: options.length > 0 || watch || chosen.some(isGlob) ? [[...options, ...chosen]] : packed(chosen),
    watch,
    recordTimes: own.has("record-times"),
    needsBuild: !chosen.every((spec) => /^(packages|scripts)\//.test(spec)),
  };
}

/** Groups that take about as long as each other. */
export function packed(files: readonly string[], most: number = mochaCount()): TestGroups {
  const durations = readDurations();
  const seconds = (file: string): number => secondsOf(durations, file);
  const sum = files.reduce((total, file) => total + seconds(file), 0);
  const count = Math.min(most, Math.max(1, Math.ceil(sum / leastSeconds)));
  // One that runs alone keeps the order in which the files were named.
  return count === 1 ? [files] : packFiles(files, seconds, count);
}

/** Such as the value of `--reporter dot`: which options of mocha take a value is not known here. */
function isPlainWord(value: string): boolean {
  return !/[/\\]|\.ts$/.test(value);
}

function isGlob(spec: string): boolean {
  return /[*{]/.test(spec);
}

function filesOf(spec: string): readonly string[] {
  const relative = spec.replace(/^\.\//, "").replace(/\/+$/, "");
  if (isGlob(spec) || !statSync(spec).isDirectory()) return [relative];
  const files = testFilesBelow(relative);
  if (files.length === 0) throw new Error(`there are no tests in ${spec}`);
  return files;
}
