/**
 * `npm run lint`: eslint with types, prettier and buf. eslint leaves out files that have passed as they are, with all that they import; with `--no-cache` it judges
 * all. `npm run lint -- packages/kube` judges only the files and folders that it names; there, `--cache` has eslint leave out files that are as they were when
 * they last passed, for the loop of a developer: it does not see that a type which such a file imports has changed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import path from "node:path";
import { parseArgs } from "node:util";
import { ESLint } from "eslint";
import { cacheDirectory } from "./cache-directory.js";
import { lintedFiles } from "./linted-files.js";
import { PassedFiles } from "./passed-files.js";

const root = path.dirname(import.meta.dirname);
const eslintCache = path.join(root, "node_modules/.bunting/eslint");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: { cache: { type: "boolean" } },
});
const released = "packages/protocol/released.json";
const everything = positionals.length === 0;
const paths = everything ? ["."] : positionals;

const failed: string[] = [];
if (!(await passesEslint())) failed.push("eslint");
// By content and options, which is all that prettier goes by: the gate may use it, too. In the home, where it outlives a checkout, for those of this path.
const prettierCache = path.join(
  cacheDirectory("prettier"),
  createHash("sha256").update(root).digest("hex").slice(0, 16),
);
const byContent = ["--cache", "--cache-strategy=content", `--cache-location=${prettierCache}`];
if (!passes("prettier", "--check", "--log-level=warn", ...byContent, ...paths)) failed.push("prettier");
if (everything && !passes("buf", "lint", "packages/protocol")) failed.push("buf");
// A field keeps its number, name and type: replicas, tiers and agents of other releases speak these protocols. A release replaces the file, by
// `buf build --exclude-source-info -o released.json` in packages/protocol.
if (everything && !passes("buf", "breaking", "packages/protocol", "--against", released))
  failed.push(`buf: the protocols are not compatible with ${released}`);
if (failed.length > 0) {
  console.error(`lint: failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}

/**
 * All files share the programs of `npm run types`, which hold each file once. With the program of each folder, as an editor has it and as a
 * few files are quickest, they take twice as long and five gigabytes.
 */
async function passesEslint(): Promise<boolean> {
  if (!everything) {
    const cache = {
      cache: values.cache === true,
      cacheLocation: eslintCache,
      cacheStrategy: "content",
    } as const;
    return (await faultyFiles(new ESLint({ cwd: root, ...cache }), paths)).size === 0;
  }
  const project = [
    "tsconfig.all.json",
    "test/browser/tsconfig.json",
    "packages/proxy/page/tsconfig.json",
    "packages/cli/page/tsconfig.json",
  ];
  const parserOptions = { projectService: false, project };
  const eslint = new ESLint({ cwd: root, overrideConfig: { languageOptions: { parserOptions } } });
  const files = await lintedFiles(eslint);
  const passed = new PassedFiles(path.join(cacheDirectory("eslint"), "passed"), files);
  const left = values.cache === false ? [...files.keys()] : passed.left;
  console.log(
    `lint: eslint judges ${left.length} of ${files.size} files; the others have passed as they are`,
  );
  const faulty = left.length === 0 ? new Set<string>() : await faultyFiles(eslint, left);
  passed.passedBut(faulty);
  return faulty.size === 0;
}

/** Files, relative to the checkout, in which eslint finds an error or anything to warn of; it says what. */
async function faultyFiles(eslint: ESLint, chosen: readonly string[]): Promise<ReadonlySet<string>> {
  const results = await eslint.lintFiles([...chosen]);
  const formatter = await eslint.loadFormatter("stylish");
  const problems = await formatter.format(results);
  if (problems !== "") console.log(problems);
  const faulty = results.filter(({ messages }) => messages.length > 0);
  return new Set(faulty.map(({ filePath }) => path.relative(root, filePath)));
}

function passes(tool: string, ...args: readonly string[]): boolean {
  const { status, error } = spawnSync(path.join(root, "node_modules", ".bin", tool), args, {
    cwd: root,
    stdio: "inherit",
  });
  if (error) throw error;
  return status === 0;
}
