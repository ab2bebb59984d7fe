import { execFileSync, spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { TempDirectory } from "../support/temp-directory.js";

const root = path.resolve(import.meta.dirname, "../..");
const action = path.join(root, "deploy/actions/lint");
const bad = "flags:\n  a: { state: ENABLED, variants: { v: 1 }, defaultVariant: w }\n";
const good = "flags:\n  a: { state: ENABLED, variants: { v: 1 }, defaultVariant: v }\n";

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe("bunting lint in other tools", () => {
  let workspace: TempDirectory;
  beforeEach(() => {
    workspace = new TempDirectory();
    workspace.replace("flags.yaml", bad);
    workspace.replace("two words.yaml", good);
    workspace.replace("compose.yaml", "services: { web: { image: registry.example/web } }\n");
  });
  afterEach(() => workspace.remove());

  describe("the hook of pre-commit", () => {
    const [hook] = parse(readFileSync(path.join(root, ".pre-commit-hooks.yaml"), "utf8")) as readonly [
      { readonly id: string; readonly entry: string; readonly language: string },
    ];

    /** As pre-commit runs a hook of the language `script`: the entry in its checkout, in the user's repository, with names of files. */
    function commit(...files: readonly string[]): Ran {
      const [script = "", ...args] = hook.entry.split(" ");
      const command = path.join(root, script);
      accessSync(command, constants.X_OK);
      return spawnSync(command, [...args, ...files], { cwd: workspace.path, encoding: "utf8" });
    }

    it("has the name that docs/cli.md has, and the language with which it runs", () => {
      expect(hook).to.include({ id: "bunting-lint", language: "script" });
      expect(readFileSync(path.join(root, "docs/cli.md"), "utf8")).to.contain(`- id: ${hook.id}\n`);
    });

    it("fails for files with findings, and passes over those that hold no flags", () => {
      const wrong = commit("compose.yaml", "flags.yaml", "two words.yaml");
      expect(wrong.status, wrong.stderr).to.equal(1);
      expect(wrong.stdout).to.match(/^flags\.yaml:2:\d+: error: agents refuse it: /);
      expect(wrong.stderr).to.equal("2 files, 2 flags: 1 error, 0 warnings\n");
      const right = commit("compose.yaml", "two words.yaml");
      expect(right).to.include({ status: 0, stdout: "", stderr: "1 file, 1 flag: no findings\n" });
    });
  });

  describe("the action of GitHub", () => {
    interface Step {
      readonly uses?: string;
      readonly run?: string;
      readonly shell?: string;
      readonly env?: Readonly<Record<string, string>>;
    }
    const { inputs, runs } = parse(readFileSync(path.join(action, "action.yml"), "utf8")) as {
      readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
      readonly runs: { readonly using: string; readonly steps: readonly Step[] };
    };

    /** As a runner does it: the variables of the step with its inputs, and the script in bash. */
    function runAction(given: Readonly<Record<string, string>>): Ran {
      const valueOf = (name: string): string => given[name] ?? inputs[name]?.default ?? "";
      const step = runs.steps.find(({ run }) => run !== undefined);
      const expanded = Object.entries(step?.env ?? {}).map(([name, text]) => [
        name,
        text.replaceAll(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, input: string) => valueOf(input)),
      ]);
      expect(step?.run).not.to.contain("${{");
      expect(step?.shell).to.equal("bash");
      const env = {
        PATH: process.env["PATH"],
        GITHUB_ACTION_PATH: action,
        ...Object.fromEntries(expanded),
      } as Record<string, string>;
      const args = ["--noprofile", "--norc", "-eo", "pipefail", "-c", step?.run ?? ""];
      return spawnSync("bash", args, { cwd: workspace.path, encoding: "utf8", env });
    }

    it("is a composite one, whose inputs all have a use", () => {
      expect(runs.using).to.equal("composite");
      for (const name of Object.keys(inputs))
        expect(JSON.stringify(runs.steps)).to.contain(`inputs.${name} }}`);
    });

    it("annotates what it finds in the paths, each on a line", () => {
      const wrong = runAction({ paths: "flags.yaml\n\n  \ntwo words.yaml\n" });
      expect(wrong.stdout).to.match(/^::error file=flags\.yaml,line=2,col=\d+,title=bunting lint%3A flag::/);
      expect(wrong.stderr).to.equal("2 files, 2 flags: 1 error, 0 warnings\n");
      expect(wrong.status).to.equal(1);
      expect(runAction({ paths: "two words.yaml" }).status).to.equal(0);
    });

    it("hands its inputs to the command as they are", () => {
      workspace.replace("flags.yaml", good.replace("v: 1", "v: 1.10"));
      expect(runAction({ paths: "flags.yaml" }).status).to.equal(1);
      expect(runAction({ paths: "flags.yaml", "fail-on": "error" }).status).to.equal(0);
      const flag =
        "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: { name: a }\nspec: { flagSpec: { flags: {} } }\n";
      workspace.replace("one.yaml", flag);
      workspace.replace("other.yaml", flag);
      expect(runAction({ paths: "one.yaml\nother.yaml" }).status).to.equal(0);
      expect(runAction({ paths: "one.yaml\nother.yaml", source: "true" }).stdout).to.contain(
        "default/a is in one.yaml",
      );
      const evil = runAction({ paths: "$(touch evil)\n--help" });
      expect(evil.status).to.equal(2);
      expect(evil.stderr).to.contain("there is no file or directory $(touch evil)");
      expect(execFileSync("ls", { cwd: workspace.path, encoding: "utf8" })).not.to.contain("evil");
    });

    it("says that no path is named", () => {
      expect(runAction({ paths: "" }).status).not.to.equal(0);
    });
  });
});
