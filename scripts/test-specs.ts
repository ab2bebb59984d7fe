import { existsSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import type { TestGroups } from "./test-groups.js";

/**
 * Every test but those of test/cluster, test/helm, test/images and test/node, which need root or tools that are built first. They are two
 * groups, which take about as long as each other.
 */
const allSpecs = [
  ["test/!(cluster|helm|images|node)/**/*.test.ts"],
  ["packages/*/src/**/*.test.ts", "bench/{fixtures,fan-out,load,servers}/*.test.ts", "scripts/*.test.ts"],
] as const;

export interface TestArguments {
  /** For mocha: options as given, and what to run as files and globs. Several groups only if all tests run, without any option. */
  readonly groups: TestGroups;
  readonly watch: boolean;
  /** Whether a test outside of packages/ and scripts/ runs: those start the built binaries, while unit tests run from sources. */
  readonly needsBuild: boolean;
}

/**
 * What `npm test -- …` was asked for: `--watch`, mocha's options, and files, folders or globs; without any of these, all tests.
 *
 * @throws Error if there is nothing at a path, since all tests would run instead.
 */
export function testArguments(argv: readonly string[]): TestArguments {
  const { tokens } = parseArgs({
    args: [...argv],
    options: {
      watch: { type: "boolean", short: "w" },
      // Options whose value could be taken for a folder.
      grep: { type: "string", short: "g" },
      fgrep: { type: "string", short: "f" },
    },
    strict: false,
    tokens: true,
  });
  const specs: string[] = [];
  const dropped = new Set<number>();
  let watch = false;
  let followsOption = false;
  for (const token of tokens) {
    if (token.kind === "option" && token.name === "watch") {
      watch = true;
      dropped.add(token.index);
    }
    if (token.kind === "positional" && (existsSync(token.value) || /[*{]/.test(token.value))) {
      specs.push(specOf(token.value));
      dropped.add(token.index);
    } else if (token.kind === "positional" && !(followsOption && isPlainWord(token.value))) {
      throw new Error(`there is no file or folder ${token.value}`);
    }
    followsOption = token.kind === "option";
  }
  const options = argv.filter((_, index) => !dropped.has(index));
  const all = specs.length === 0;
  const chosen = all ? allSpecs.flat() : specs;
  return {
    // With --grep or --bail, a group of its own would fail without a test of that name, or go on.
    groups: all && argv.length === 0 ? allSpecs : [[...options, ...chosen]],
    watch,
    needsBuild: !chosen.every((spec) => /^(packages|scripts)\//.test(spec)),
  };
}

/** Such as the value of `--reporter dot`: which options of mocha take a value is not known here. */
function isPlainWord(value: string): boolean {
  return !/[/\\]|\.ts$/.test(value);
}

function specOf(spec: string): string {
  const relative = spec.replace(/^\.\//, "").replace(/\/+$/, "");
  return existsSync(spec) && statSync(spec).isDirectory() ? `${relative}/**/*.test.ts` : relative;
}
