import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { declaredNames } from "./declared-names.js";

const root = path.dirname(import.meta.dirname);
const folders = ["packages", "test", "scripts", "bench", "docs", "deploy", "examples"];
const isPath = new RegExp(
  `^(?:(?:${folders.join("|")})/[^ ]*|[\\w./-]+\\.(?:ts|md|mjs|json|ya?ml)|[\\w-]+/)$`,
);

/** Files and folders that may be named by the end of their path. */
function tree(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    if (/^(node_modules|dist|coverage)$/.test(entry.name)) return [];
    return entry.isDirectory() ? [`${name}/`, ...tree(name)] : [name];
  });
}

/** What stands between backticks, item by item of its lists, and paragraph by paragraph. */
function namesIn(file: string): string[][] {
  const text = readFileSync(path.join(root, file), "utf8").replaceAll(/^```[^]*?^```$/gm, "");
  const items = text.split(/\n(?:\n|(?=\d+\. |- |\|))/);
  return items.map((item) => [...item.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

describe("the documents of the code", () => {
  const all = folders.flatMap(tree);
  const exists = (name: string): boolean =>
    existsSync(path.join(root, name)) || all.some((one) => one.endsWith(`/${name}`));

  for (const file of ["docs/architecture.md", "docs/contributing-tour.md", "docs/flagd-proxy-parity.md"])
    it(`name only files and folders that there are, in ${file}`, () => {
      const paths = namesIn(file)
        .flat()
        .filter((name) => isPath.test(name));
      expect(paths.length).to.be.greaterThan(20);
      expect(paths.filter((name) => !exists(name))).to.deep.equal([]);
    });

  it("follow five trips, one file a hop", () => {
    const text = readFileSync(path.join(root, "docs/architecture.md"), "utf8");
    const [, trips = ""] = /^## Five trips$([^]*?)^## /m.exec(text) ?? [];
    expect(trips.match(/^### /gm)).to.have.length(5);
    const hops = trips.match(/^\d+\. .*$/gm) ?? [];
    expect(
      hops.filter((hop) => !/^\d+\. `(?:packages\/[^`]+\.ts|deploy\/[^`]+\.yaml)`: .+\.$/.test(hop)),
    ).to.deep.equal([]);
  });

  it("name code of the files beside it, in the tour", () => {
    const wrong: string[] = [];
    let checked = 0;
    for (const names of namesIn("docs/contributing-tour.md")) {
      const files = names.filter((name) => isPath.test(name) && name.endsWith(".ts"));
      const declared = new Set(files.flatMap((name) => [...declaredNames(fileOf(name))]));
      for (const name of names) {
        // Commands, options, metrics and patterns of names are not names of code.
        if (isPath.test(name) || /^(npm|--|\.ci|bunting_|.*[<>…])/.test(name) || files.length === 0) continue;
        checked++;
        // Of `options.drainWindow` the last part, of `conflated(snapshots: number)` the first.
        for (const [word] of name.replace(/\(.*/, "").matchAll(/[A-Za-z_$][\w$]*(?![\w$]*\.)/g))
          if (!declared.has(word)) wrong.push(`${name} in ${files.join(", ")}`);
      }
    }
    expect(wrong).to.deep.equal([]);
    expect(checked).to.be.greaterThan(20);
  });

  function fileOf(name: string): string {
    return path.join(root, all.find((one) => one === name || one.endsWith(`/${name}`)) ?? name);
  }
});
