import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { serveExtension } from "@bunting/extension";
import { flagName, type OptionSpec } from "@bunting/runtime/options";
import { expect } from "chai";
import { readCommandLine } from "./command-line/read-command-line.js";
import { commands } from "./commands.js";
import { runCommand as run } from "./run-command.fixture.js";
import { coloursFor } from "./terminal/colours.js";
import type { Io } from "./terminal/io.js";

/** A text without the line ends that wrapping gave it, nor the types and defaults at its right. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

const good = "flags:\n  a: { state: ENABLED, variants: { v: 1, w: 2 }, defaultVariant: v }\n";
const bad = "flags:\n  a: { state: ENABLED, variants: { v: 1 }, defaultVariant: w }\n";

describe("bunting", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-cli-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  function file(name: string, text: string): string {
    const full = path.join(directory, name);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  }

  it("lists its commands, and explains each with all of its options and examples", async () => {
    // A wider text takes yargs much longer.
    const columns = 250;
    const { out, code } = await run(["--help"], { columns });
    expect(code).to.equal(0);
    expect(await run(["help"], { columns })).to.deep.equal({ code, out, err: "" });
    for (const { name, summary, words, table, examples } of commands) {
      expect(oneLine(out)).to.contain(name).and.contain(summary);
      const help = await run(["help", name], { columns });
      expect(help).to.deep.equal(await run([name, "--help"], { columns }));
      expect(await run([name, "-h", "--bogus"], { columns })).to.deep.equal(help);
      const text = oneLine(help.out);
      // The bundle counts one column for each character.
      expect(help.out).to.match(/^[\n\x20-\x7e…]*$/);
      expect(text).to.contain(`Usage: bunting ${name}`).and.contain(words).and.contain("Exit code: ");
      expect(examples).not.to.deep.equal({});
      for (const [line, meaning] of Object.entries(examples))
        expect(text).to.contain(line).and.contain(meaning);
      for (const [key, spec] of Object.entries(table) as [string, OptionSpec<unknown>][]) {
        expect(spec.describe, key).to.match(/\.$/);
        expect(text).to.contain(` --${flagName(key, spec)} ${spec.describe}`);
        expect(spec.env, `${name} ${key}`).not.to.deep.equal([]);
        for (const variable of spec.env) expect(text).to.contain(variable);
      }
    }
    expect(await run([], { columns })).to.deep.equal({ code: 2, out, err: "" });
    expect((await run(["--version"])).out).to.match(/^bunting: \d+\.\d+\.\d+ \(node v/);
  });

  it("is in English everywhere, as its sentences are", async () => {
    const { out } = await run(["--help"]);
    const { LC_ALL } = process.env;
    process.env["LC_ALL"] = "de_DE.UTF-8";
    try {
      expect((await run(["--help"])).out).to.equal(out);
    } finally {
      if (LC_ALL === undefined) delete process.env["LC_ALL"];
      else process.env["LC_ALL"] = LC_ALL;
    }
  });

  it("wraps help to the terminal", async () => {
    for (const columns of [60, 80, 110]) {
      const lines = (await run(["status", "--help"], { columns })).out.split("\n");
      const longest = Math.max(...lines.map(({ length }) => length));
      expect(longest).to.be.within(columns - 5, columns);
    }
  });

  it("shows each example on a line of its own, however narrow the terminal is", async () => {
    for (const { name, examples } of commands) {
      const lines = (await run([name, "--help"], { columns: 60 })).out.split("\n");
      for (const [line, meaning] of Object.entries(examples))
        expect(lines.slice(lines.indexOf(`  # ${meaning}`)).slice(0, 2)).to.deep.equal([
          `  # ${meaning}`,
          `  ${line}`,
        ]);
    }
  });

  it("takes flags in the forms that the services take, and each of them in the examples", async () => {
    const path = file("good.yaml", good);
    const text = (await run(["eval", path, "a", "--type", "integer", "--json"])).out;
    for (const argv of [
      ["eval", path, "a", "--type=integer", "--json=yes"],
      ["eval", "-t", "integer", path, "--json=1", "a"],
      ["eval", "-tinteger", "--json", "--", path, "a"],
      ["eval", "-t=object", "-t=integer", path, "a", "--json=true"],
    ])
      expect((await run(argv)).out, argv.join(" ")).to.equal(text);
    expect((await run(["eval", path, "a", "--json=false", "-c", "{}"])).out).to.match(/^a = 1\n/);
    // The key of a flag, not a request for help.
    expect((await run(["eval", path, "help"])).err).to.contain('there is no flag "help"');
    for (const { examples } of commands) {
      for (const line of Object.keys(examples)) {
        const [, words = ""] = /\bbunting ([^|)]*)/.exec(line) ?? [];
        const argv = [...words.matchAll(/'([^']*)'|(\S+)/g)].map(
          ([, quoted, plain]) => quoted ?? plain ?? "",
        );
        expect(readCommandLine(argv, commands, { env: {}, columns: 80 } as Io).kind, line).to.equal("run");
      }
    }
  });

  it("completes commands, flags and values", async () => {
    const completed = async (...words: readonly string[]): Promise<string[]> =>
      (await run(["--get-yargs-completions", "bunting", ...words])).out.split("\n");
    expect(await completed("")).to.include.members([...commands.map(({ name }) => name), "help"]);
    expect(await completed("lint", "--ma")).to.include("--max-document");
    expect(await completed("lint", "--fail-on", "")).to.deep.equal(["warning", "error"]);
    expect(await completed("eval", "x", "-t", "b")).to.deep.equal(["boolean"]);
    expect(await completed("help", "ta")).to.deep.equal(["tail"]);
    expect(await completed("completion", "z")).to.deep.equal(["zsh"]);
    // The shell completes names of files then.
    expect(await completed("lint", "fl")).to.deep.equal([""]);
    for (const shell of ["bash", "zsh", "fish"])
      expect((await run(["completion", shell])).out).to.contain("bunting --get-yargs-completions");
  });

  it("explains mistakes on the command line in a sentence, with exit code 2", async () => {
    const mistakes: readonly (readonly [argv: readonly string[], sentence: RegExp])[] = [
      [["frobnicate"], /^bunting: "frobnicate" is not a command: use one of lint, /],
      [["lnit", "x"], /^bunting: "lnit" is not a command: did you mean lint\?$/],
      [["help", "frobnicate"], /^bunting: "frobnicate" is not a command: use one of lint, /],
      [["lint"], /^bunting: name the files or directories to check/],
      [["lint", "--jsn", "x"], /^bunting: unknown flag: --jsn \(did you mean --json\?\)/],
      [["lint", "/nowhere.yaml"], /^bunting: there is no file or directory \/nowhere\.yaml$/],
      [["completion", "csh"], /^bunting: expected one shell: bash, zsh, fish, got "csh"$/],
      [["completion"], /^bunting: expected one shell: bash, zsh, fish$/],
      [["lint", "--no-json", "x"], /^bunting: unknown flag: --no-json; /],
      [["lint", "--a.b", "x"], /^bunting: unknown flag: --a\.b; /],
      [["lint", "-x", "x"], /^bunting: unknown flag: -x; --help lists all flags$/],
      [["lint", "--json=maybe", "x"], /^bunting: --json: expected true or false, got "maybe"$/],
      [["lint", "x", "--fail-on"], /^bunting: --fail-on needs a value; --help says which$/],
      [["eval", "x", "y", "-c"], /^bunting: -c needs a value; --help says which$/],
      [["lint", "--fail-on=all", "x"], /^bunting: --fail-on: expected warning or error, got "all"$/],
      [["eval", "x"], /^bunting: expected a file and the key of a flag/],
      [["eval", "-", "a", "--context", "-"], /can't both come from the standard input$/],
    ];
    for (const [argv, sentence] of mistakes) {
      const { code, out, err } = await run(argv);
      expect({ code, out }, argv.join(" ")).to.deep.equal({ code: 2, out: "" });
      expect(err).to.match(sentence);
    }
  });

  describe("lint", () => {
    it("reads FeatureFlagSources and annotations, and remarks names that are in none of the files", async () => {
      const source =
        "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlagSource\nspec: { sources: [{ source: gone }] }\n";
      file("source.yaml", source);
      file("flags.yaml", good);
      const remarked = await run(["lint", directory]);
      expect(remarked.out).to.match(
        /source\.yaml:3:\d+: remark: none of these files has the FeatureFlag default\/gone/,
      );
      expect(remarked).to.include({ code: 0, err: "2 files, 1 flag: 0 errors, 0 warnings, 1 remark" });
      expect((await run(["lint", "--github", directory])).out).to.match(/^::notice file=/);
      expect(JSON.parse((await run(["lint", "--json", directory])).out)).to.include({
        remarks: 1,
        warnings: 0,
      });
      file("pod.yaml", "kind: Pod\nmetadata: { annotations: { openfeature.dev/enabled: true } }\n");
      const wrong = await run(["lint", directory]);
      expect(wrong.code).to.equal(1);
      expect(wrong.out).to.contain("pod.yaml:2:28: error: true is no text");
    });

    it("exits with 1 for findings, with 0 for none, and with --fail-on=error only for errors", async () => {
      expect(await run(["lint", file("good.yaml", good)])).to.deep.equal({
        code: 0,
        out: "",
        err: "1 file, 1 flag: no findings",
      });
      const { code, out, err } = await run(["lint", file("bad.yaml", bad)]);
      expect({ code, err }).to.deep.equal({ code: 1, err: "1 file, 1 flag: 1 error, 0 warnings" });
      expect(out).to.match(/bad\.yaml:2:44: error: .* \[flag\]$/);
      const odd = file("odd.yaml", good.replace("ENABLED", "On"));
      expect((await run(["lint", odd])).code).to.equal(1);
      expect((await run(["lint", "--fail-on=error", odd])).code).to.equal(0);
      expect((await run(["lint", odd], { env: { BUNTING_LINT_FAIL_ON: "error" } })).code).to.equal(0);
    });

    it("reads directories as the proxy does, without the files that hold no flags", async () => {
      file("a/good.yaml", good);
      file("a/chart.yaml", "name: x\n");
      file("a/.hidden.yaml", bad);
      file("a/readme.md", "# no flags\n");
      file("a/node_modules/x/flags.json", "{");
      symlinkSync("..", path.join(directory, "a/loop"));
      expect(await run(["lint", directory])).to.include({ code: 0, err: "1 file, 1 flag: no findings" });
      const chart = path.join(directory, "a/chart.yaml");
      expect((await run(["lint", chart])).out).to.contain('neither "kind"');
    });

    it("enters each directory once, however many links lead to it", async () => {
      const names = Array.from({ length: 12 }, (_, index) => `d${index}`);
      for (const name of names) file(`${name}/f.yaml`, good);
      for (const name of names)
        for (const other of names) symlinkSync(`../${other}`, path.join(directory, name, `to-${other}`));
      expect(await run(["lint", directory])).to.include({ code: 0, err: "12 files, 12 flags: no findings" });
    });

    it("reads no more of a device than a file may have, and of pipes those that are named", async () => {
      expect((await run(["lint", "/dev/zero"])).out).to.match(/^\/dev\/zero:1:1: error: the file has more/);
      const tooLarge = { code: 2, err: "bunting: /dev/zero has more than 16777216 bytes: split it" };
      expect(await run(["eval", "/dev/zero", "a"])).to.include(tooLarge);
      expect(await run(["diff", "/dev/zero", "/dev/zero"])).to.include(tooLarge);
      execFileSync("mkfifo", [path.join(directory, "pipe.yaml")]);
      expect(await run(["lint", directory])).to.include({ code: 0, err: "0 files, 0 flags: no findings" });
      const lint = 'exec "$0" "$1" lint <(echo "$2")';
      const args = [process.execPath, path.join(import.meta.dirname, "main.ts"), good];
      const env = { ...process.env, NODE_OPTIONS: "--conditions=@bunting/source --import=tsx" };
      const options = { env, stdio: "pipe" } as const;
      expect(() => execFileSync("bash", ["-c", lint, ...args], options)).not.to.throw();
    });

    it("ends at once when a pipe has nothing to read and the user has had enough", async () => {
      const pipe = path.join(directory, "pipe.yaml");
      execFileSync("mkfifo", [pipe]);
      const enough = new AbortController();
      const running = run(["lint", pipe], { signal: enough.signal });
      // Waits until the command has opened the other end.
      const writer = await open(pipe, "w");
      try {
        enough.abort();
        expect((await running).code).to.equal(130);
      } finally {
        await writer.close();
      }
    });

    it("checks a directory as one source of the proxy with --source", async () => {
      const manifest = "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: { name: a }\n";
      file("a.yaml", manifest);
      file("b/a.yaml", manifest);
      file("b/Fläche.yaml", good);
      file("c.yaml", "name: x\n");
      expect((await run(["lint", directory])).code).to.equal(0);
      const { out, code } = await run(["lint", "--source", directory]);
      expect(code).to.equal(1);
      expect(out.split("\n")).to.have.length(3);
      expect(out).to.match(/b\/Fläche\.yaml:1:1: error: .* rename the file .* \[manifest\]/);
      expect(out).to.match(/b\/a\.yaml:1:1: error: default\/a is in .*a\.yaml:1 already: .* \[duplicate\]/);
      expect(out).to.match(/c\.yaml:1:1: error: there is neither "kind"/);
    });

    it("prints JSON, and annotations where it runs in GitHub Actions", async () => {
      const path = file("bad: 1,2.yaml", bad);
      const { out } = await run(["lint", "--json", path], { env: { GITHUB_ACTIONS: "true" } });
      const { findings, ...counts } = JSON.parse(out) as { readonly findings: readonly object[] };
      expect(counts).to.deep.equal({ files: 1, documents: 1, flags: 1, errors: 1, warnings: 0, remarks: 0 });
      expect(findings[0]).to.include({
        file: path,
        line: 2,
        column: 44,
        severity: "error",
        kind: "flag",
        flag: "a",
      });
      const annotated = await run(["lint", path], { env: { GITHUB_ACTIONS: "true" } });
      expect(annotated.out).to.match(
        /^::error file=\S*bad%3A 1%2C2\.yaml,line=2,col=44,title=bunting lint%3A flag::agents refuse it: /,
      );
      expect(annotated.code).to.equal(1);
    });

    it("asks extensions about FeatureFlags with --extensions, and sorts what they say into the rest", async () => {
      const lint = () => [{ severity: "warning", message: "it is old", field: "/metadata/name" }] as const;
      const ending = new AbortController();
      const extension = await serveExtension({ lint }, { port: 0, host: "127.0.0.1", signal: ending.signal });
      try {
        const head = "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: { name: a }\n";
        const path = file(
          "a.yaml",
          `${head}spec:\n  flagSpec: ${bad.replaceAll("\n", "\n    ").replace("flags", "\n    flags")}`,
        );
        const { out, code } = await run(["lint", path, "--extensions", `age=${extension.url}`]);
        expect(code).to.equal(1);
        const [first = "", second, ...rest] = out.split("\n");
        expect(first.replace(path, "")).to.equal(":3:13: warning: age: it is old [extension]");
        expect(second).to.match(/ error: .* \[flag\]$/);
        expect(rest).to.deep.equal([]);
      } finally {
        ending.abort();
        await extension.ended;
      }
      const { code, err } = await run(["lint", file("a.yaml", good), "--extensions", "age=localhost"]);
      expect([code, err]).to.deep.equal([
        2,
        'bunting: "localhost" is no address of an extension: write http://localhost:8080',
      ]);
    });

    it("reads the standard input", async () => {
      const { out, code } = await run(["lint", "-"], { stdin: bad });
      expect(code).to.equal(1);
      expect(out).to.match(/^<stdin>:2:44: error/);
    });
  });

  describe("eval", () => {
    const rule = `{"flags":{"f":{"state":"ENABLED","variants":{"on":true,"off":false},"defaultVariant":"off",
      "targeting":{"if":[{"==":[{"var":"plan"},"pro"]},"on",{"<":[{"var":"$flagd.timestamp"},5]},"on"]}}}}`;

    it("prints the value, and the way through the rule", async () => {
      const { out, code } = await run(["eval", file("f.json", rule), "f", "-c", '{"plan":"free"}']);
      expect(code).to.equal(0);
      expect(out.split("\n").slice(2)).to.deep.equal([
        "",
        "if → null",
        '├─ if == "pro" → false',
        '│  └─ var "plan" → "free"',
        "└─ else if < 5 → false",
        `   └─ var "$flagd.timestamp" → ${/timestamp" → (\d+)/.exec(out)?.[1] ?? ""}`,
        "The rule gives null, which means the default variant.",
      ]);
      expect(out).to.contain('f = false\nreason DEFAULT, variant "off"');
      const early = await run(["eval", path.join(directory, "f.json"), "f", "--at", "1970-01-01T00:00:04Z"]);
      expect(early.out).to.contain("f = true").and.contain('then "on"  ← argument 4 of 4');
    });

    it("takes the context from a file, or from the standard input", async () => {
      const flags = file("f.json", rule);
      const context = file("context.json", '{"plan":"pro"}');
      expect((await run(["eval", flags, "f", "--context", `@${context}`])).out).to.contain("f = true");
      const stdin = '{"plan":"pro"}';
      expect((await run(["eval", flags, "f", "--context", "-"], { stdin })).out).to.contain("f = true");
      expect((await run(["eval", flags, "f", "--context", "[]"])).err).to.contain(
        "--context must be a JSON object",
      );
      expect((await run(["eval", flags, "f", "--context", "{"])).err).to.contain("--context is not JSON");
    });

    it("answers as the agent does where the type is another, the flag is disabled or has no default", async () => {
      const flags = file(
        "f.yaml",
        "flags:\n  f: { state: ENABLED, variants: { v: 1.9 }, defaultVariant: v }\n  d: { state: DISABLED, variants: { v: 1 } }\n  n: { state: ENABLED, variants: { v: 1 } }\n  e: { state: ENABLED, variants: { v: 1 }, targeting: { nope: [] } }\n",
      );
      expect(await run(["eval", flags, "f", "--type", "boolean"])).to.include({ code: 1 });
      expect((await run(["eval", flags, "f", "--type", "boolean"])).out).to.contain("ERROR TYPE_MISMATCH");
      expect((await run(["eval", flags, "f", "--type", "integer"])).out).to.contain("f = 1\n");
      expect(await run(["eval", flags, "d"])).to.include({ code: 0 });
      expect((await run(["eval", flags, "n"])).out).to.contain("applications use the default in their code");
      const failed = await run(["eval", flags, "e", "--json"]);
      expect(failed.code).to.equal(1);
      expect(JSON.parse(failed.out)).to.deep.include({
        key: "e",
        reason: "ERROR",
        errorCode: "PARSE_ERROR",
        message: 'there is no operator "nope"',
      });
    });

    it("counts what users get of a flag, each by a targetingKey of its own, and of the type asked for", async () => {
      const rollout = file(
        "rollout.yaml",
        'flags:\n  f:\n    state: ENABLED\n    variants: { v: 1, w: yes }\n    defaultVariant: v\n    targeting: { if: [{ in: [{ var: targetingKey }, [user-0, user-3, user-9]] }, w, { "==": [{ var: plan }, pro] }, null, v] }\n',
      );
      const { out, code } = await run(["eval", rollout, "f", "--users", "4"]);
      expect(code).to.equal(0);
      expect(out.split("\n").slice(0, 1)).to.deep.equal(["f for 4 users"]);
      expect(out.split("\n").slice(2)).to.deep.equal([
        "",
        "USERS   SHARE  VARIANT  VALUE",
        '    2  50.0 %  "w"      "yes"',
        '    2  50.0 %  "v"      1',
      ]);
      const json = ["eval", rollout, "f", "--users=20", "-t", "integer", "--json", "-c", '{"plan":"pro"}'];
      const counted = await run(json);
      expect(counted.code).to.equal(1);
      const { users, answers } = JSON.parse(counted.out) as { users: number; answers: object[] };
      expect(users).to.equal(20);
      expect(answers).to.deep.equal([
        { value: 1, variant: "v", users: 17 },
        {
          variant: "w",
          errorCode: "TYPE_MISMATCH",
          message: 'the value "yes" is not of the type integer',
          users: 3,
        },
      ]);
      const byAccount = file(
        "accounts.yaml",
        "flags: { f: { state: ENABLED, variants: { v: 1, w: 2 }, defaultVariant: v, targeting: { if: [{ in: [{ var: account }, [account-0, account-3]] }, w, v] } } }\n",
      );
      const accounts = (await run(["eval", byAccount, "f", "--users", "4", "--users-by", "account"])).out;
      expect(accounts).to.contain('    2  50.0 %  "w"      2\n');
      const few = await run(["eval", byAccount, "f", "--users-by", "account"]);
      expect(few).to.include({ code: 2 });
      expect(few.err).to.contain("--users-by is about --users: say how many users");
      const unknown = file(
        "unknown.yaml",
        "flags: { f: { state: ENABLED, variants: { v: 1 }, targeting: { if: [true, w] } } }\n",
      );
      const told = (await run(["eval", unknown, "f", "--users", "2"])).out;
      expect(told).to.contain(
        "    2  100.0 %           GENERAL  the result of the rule is the name of no variant",
      );
      const atAgent = await run(["eval", "agent://localhost:8016", "f", "--users", "4"]);
      expect(atAgent.code).to.equal(2);
      expect(atAgent.err).to.match(/^bunting: --users counts what the flags of a file or of a proxy give/);
    });

    it("refuses a FeatureFlag for an agent, which knows its flags by their keys alone", async () => {
      const { code, err } = await run(["eval", "agent://localhost:1", "f", "--topic", "shop/a"]);
      expect([code, err]).to.deep.equal([
        2,
        "bunting: --topic chooses among the FeatureFlags of a file, but an agent has one flag of each key: leave it out",
      ]);
    });

    it("refuses a time for an agent, whose answer and flags would differ by it alone", async () => {
      const { code, err } = await run(["eval", "agent://localhost:1", "f", "--at", "1970-01-01T00:00:04Z"]);
      expect([code, err]).to.deep.equal([
        2,
        "bunting: --at sets the time for the flags of a file or of a proxy, but an agent answers by its own clock",
      ]);
    });

    it("says which flags and FeatureFlags there are", async () => {
      const flags = file("f.json", rule);
      expect((await run(["eval", flags, "g"])).err).to.equal('bunting: there is no flag "g": there is "f"');
      expect((await run(["eval", file("bad.yaml", bad), "a"])).err).to.contain("default variant");
      const head = "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\n";
      const both = file(
        "both.yaml",
        ["a", "b"]
          .map(
            (name) =>
              `${head}metadata: { name: ${name} }\nspec:\n  flagSpec: { flags: { f: { state: ENABLED, variants: { v: ${name} }, defaultVariant: v } } }\n`,
          )
          .join("---\n"),
      );
      expect((await run(["eval", both, "f"])).err).to.contain(
        "is in default/a, default/b: choose one with --topic",
      );
      expect((await run(["eval", both, "f", "--topic", "default/b"])).out).to.contain('f = "b"');
      expect((await run(["eval", both, "f", "--topic", "default/c"])).err).to.contain(
        "it has default/a, default/b",
      );
    });
  });
});

describe("coloursFor", () => {
  it("colours terminals only, and none if NO_COLOR is set", () => {
    expect(coloursFor(true, {}).red("x")).to.equal("\u001b[31mx\u001b[0m");
    expect(coloursFor(false, {}).red("x")).to.equal("x");
    expect(coloursFor(true, { NO_COLOR: "1" }).red("x")).to.equal("x");
    expect(coloursFor(true, { NO_COLOR: "" }).red("x")).not.to.equal("x");
    expect(coloursFor(true, { TERM: "dumb" }).red("x")).to.equal("x");
  });
});
