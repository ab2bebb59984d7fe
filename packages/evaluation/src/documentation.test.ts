import { readFileSync } from "node:fs";
import path from "node:path";
import { inspect } from "node:util";
import vm from "node:vm";
import { expect } from "chai";
import * as evaluation from "./index.js";

const page = readFileSync(path.join(import.meta.dirname, "../../../docs/evaluation.md"), "utf8");

describe("docs/evaluation.md", () => {
  it("has an example that prints what the comments behind it say", () => {
    const [, example = ""] = /```js\n(.*?)```/s.exec(page) ?? [];
    const expected = [...example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    expect(expected).to.have.length(6);
    const printed: string[] = [];
    const log = (...values: unknown[]): void => {
      printed.push(values.map((value) => (typeof value === "string" ? value : inspect(value))).join(" "));
    };
    const body = example.replace(/^import (.*) from "@bunting\/evaluation";$/m, "const $1 = evaluation;");
    const run = vm.runInThisContext(`(evaluation, console) => {${body}\n}`) as (
      api: typeof evaluation,
      console: { readonly log: typeof log },
    ) => void;
    run(evaluation, { log });
    expect(printed).to.deep.equal(expected);
  });

  it("names nothing that the package does not export", () => {
    const named = [...page.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name);
    expect(named).to.have.length(9);
    expect(Object.keys(evaluation)).to.include.members(named);
  });
});
