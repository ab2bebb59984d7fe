import { execFile, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { isReady, proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { codeBlocksOf, repository } from "../support/markdown-pages.js";
import { patient } from "../support/patience.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { testScale } from "../support/scale.js";
import { TempDirectory } from "../support/temp-directory.js";
import {
  installedDotnet,
  installedGo,
  installedJava,
  installedNode,
  installedPhp,
  installedPython,
  installedRust,
} from "./providers/provider-probe.js";

const run = promisify(execFile);
const folder = path.join(repository, "examples/sdk");
const page = "docs/start/sdk.md";
const example = (file: string): string => path.join(folder, file);

/** The block of a page that has these in it, the last one that does. */
function linesWith(of: string, part: string): string {
  const found = codeBlocksOf(of).findLast(({ language, text }) => language === "sh" && text.includes(part));
  return found?.text ?? expect.fail(`${of} has no block with ${part}`);
}

interface Program {
  readonly file: string;
  /** Of a second program of the file. */
  readonly how?: string;
  /** The command that runs it. Undefined where the toolchain is missing, or its registry is out of reach. */
  readonly command: (agent: AgentProcess) => Promise<readonly string[] | undefined>;
  /** Further variables of its environment. */
  readonly environment?: (agent: AgentProcess) => Readonly<Record<string, string>>;
}

/** The example in Rust takes minutes to build the first time, and is left to the night. */
async function rust(): Promise<readonly string[] | undefined> {
  if (testScale === "gate") return undefined;
  const place = await installedRust(linesWith(page, "cargo add"), example("welcome.rs"));
  return place === undefined ? undefined : [path.join(place, "target/debug/welcome")];
}

const programs: readonly Program[] = [
  { file: "welcome.mjs", command: () => Promise.resolve([process.execPath, example("welcome.mjs")]) },
  {
    file: "browser.mjs",
    // The port is moved, and nothing else: a browser has no environment to read it from.
    command: ({ ofrep }) => {
      const text = readFileSync(example("browser.mjs"), "utf8").replace("http://localhost:8016", ofrep);
      return Promise.resolve([process.execPath, "--input-type=module", "--eval", text]);
    },
  },
  {
    file: "welcome.mjs",
    how: "with what npm installs",
    command: async () => {
      const lines = linesWith("docs/start/application.md", "npm init").replace(/^.*\.tgz\n/m, "");
      const place = await installedNode(lines, example("welcome.mjs"));
      return place === undefined ? undefined : [process.execPath, path.join(place, "welcome.mjs")];
    },
  },
  {
    file: "browser.mjs",
    how: "with what npm installs",
    command: async ({ ofrep }) => {
      const lines = `npm init --yes\n${linesWith(page, "@openfeature/web-sdk")}`;
      const place = await installedNode(lines, example("browser.mjs"));
      if (place === undefined) return undefined;
      const here = path.join(place, "here.mjs");
      const text = readFileSync(example("browser.mjs"), "utf8").replace("http://localhost:8016", ofrep);
      writeFileSync(here, text);
      return [process.execPath, here];
    },
  },
  {
    file: "welcome.go",
    command: async () => {
      const place = await installedGo(linesWith(page, "go get"), example("welcome.go"));
      return place === undefined ? undefined : [path.join(place, "welcome")];
    },
  },
  {
    file: "welcome.py",
    command: async () => {
      const place = await installedPython();
      return place === undefined ? undefined : [path.join(place, "bin/python"), example("welcome.py")];
    },
  },
  {
    file: "Welcome.java",
    command: async () => {
      const place = await installedJava();
      return place === undefined
        ? undefined
        : ["java", "-cp", path.join(place, "lib/*"), example("Welcome.java")];
    },
  },
  { file: "welcome.rs", command: rust },
  {
    file: "welcome.rs",
    how: "evaluating in process",
    command: rust,
    environment: ({ ports }) => ({
      FLAGD_RESOLVER: "in-process",
      FLAGD_PORT: String(ports.get("sync")),
    }),
  },
  {
    file: "Welcome.cs",
    command: async () => {
      const place = await installedDotnet(linesWith(page, "dotnet add"), example("Welcome.cs"));
      return place === undefined ? undefined : ["dotnet", path.join(place, "built/welcome.dll")];
    },
  },
  {
    file: "welcome.php",
    // The port is moved: the example has it written out.
    command: async ({ ports }) => {
      const place = await installedPhp(linesWith(page, "composer require"));
      if (place === undefined) return undefined;
      const here = path.join(place, "welcome.php");
      const text = readFileSync(example("welcome.php"), "utf8");
      writeFileSync(here, text.replace("8013", String(ports.get("evaluation"))));
      return ["php", here];
    },
  },
];

/** docs/start/sdk.md shows them, and docs/start/node.md runs the one for Node. */
describe("the examples of SDKs", () => {
  const directory = new TempDirectory();
  // The provider for Rust, in process, takes no flags where one lacks a default variant.
  const codeDefault = "      code-default: { state: ENABLED, variants: { here: true } }\n";
  const flags = readFileSync(path.join(repository, "examples/flags/storefront.yaml"), "utf8") + codeDefault;
  const flipped = flags.replace('defaultVariant: "off"', 'defaultVariant: "on"');
  let proxy: ProxyProcess;
  let agent: AgentProcess;

  before(async () => {
    directory.replace("storefront.yaml", flags);
    proxy = await startProxy(directory.path);
    agent = await startAgent(proxySources(proxy.sync, "default/storefront"));
    await eventually(() => isReady(agent.management), "the agent is ready");
  });
  after(async () => {
    await agent.process.stop();
    await proxy.process.stop();
    directory.remove();
  });

  async function edit(text: string, expected: boolean): Promise<void> {
    directory.replace("storefront.yaml", text);
    await eventually(async () => {
      const answer = await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags/new-welcome`, { method: "POST" });
      return ((await answer.json()) as { value: boolean }).value === expected;
    }, "the agent has the edit");
  }

  it("take for Node what docs/start/application.md takes", () => {
    expect(linesWith("docs/start/application.md", "npm init")).to.contain(
      linesWith(page, "@openfeature/server-sdk"),
    );
  });

  for (const { file, how = "", command, environment } of programs)
    it(`ask for a flag, and follow its edit: ${file} ${how}`.trim(), async function () {
      this.timeout(900_000);
      const [name, ...args] = (await command(agent)) ?? [];
      if (name === undefined) return this.skip();
      const env = {
        ...process.env,
        FLAGD_DEADLINE_MS: String(patient(5_000)),
        FLAGD_HOST: "127.0.0.1",
        FLAGD_PORT: String(agent.ports.get("evaluation")),
        ...environment?.(agent),
      };
      const say = async (): Promise<string> => (await run(name, args, { env, cwd: folder })).stdout;
      await edit(flags, false);
      expect(await say()).to.equal("new-welcome = false\n");
      await edit(flipped, true);
      expect(await say()).to.equal("new-welcome = true\n");
    });

  for (const [language, command, ...args] of [
    ["Go", "gofmt", "-l", example("welcome.go")],
    ["Rust", "rustfmt", "--edition=2024", "--check", example("welcome.rs")],
  ] as const)
    it(`are ${language} as ${command} writes it`, function () {
      const { status, stdout, error } = spawnSync(command, args, { encoding: "utf8" });
      if (error !== undefined) return this.skip();
      expect({ status, stdout }).to.deep.equal({ status: 0, stdout: "" });
    });

  it("stand all on the page", () => {
    const shown = codeBlocksOf(page).map(({ comment }) => path.basename(comment));
    expect(shown).to.include.members(readdirSync(folder));
  });
});
