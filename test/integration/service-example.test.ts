import { execFile, spawn, type ChildProcess } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { codeBlocksOf, repository } from "../support/markdown-pages.js";
import { TempDirectory } from "../support/temp-directory.js";

const run = promisify(execFile);
const page = "docs/start/application.md";
const example = path.join(repository, "examples/service");

/** The block of the page whose text has this in it. */
function blockWith(part: string): string {
  const found = codeBlocksOf(page).find(({ language, text }) => language !== "js" && text.includes(part));
  return found?.text ?? expect.fail(`the page has no block with ${part}`);
}

/** What the page says that a loop prints; `uniq -c` of other systems indents it in other ways. */
function counts(text: string): readonly string[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim());
}

describe("docs/start/application.md", function () {
  this.timeout(300_000);
  const directory = new TempDirectory();
  const here = { cwd: directory.path };
  let agent: AgentProcess;
  let service: ChildProcess;
  let port: number;
  let said = "";

  before("writes what the page shows, as a project that has installed its packages", async () => {
    cpSync(example, directory.path, { recursive: true });
    mkdirSync(directory.file("node_modules/.bin"), { recursive: true });
    for (const scope of ["@openfeature", "@grpc"])
      symlinkSync(
        path.join(repository, "examples/node_modules", scope),
        directory.file(`node_modules/${scope}`),
      );
    symlinkSync(
      path.join(repository, "packages/cli/bin/bunting.cjs"),
      directory.file("node_modules/.bin/bunting"),
    );
    port = await freePort();
  });
  after(async () => {
    service.kill();
    await agent.process.stop();
    directory.remove();
  });

  /** Starts the service with an agent that is not there yet. */
  function startService(agentPort: number): void {
    const env = {
      ...process.env,
      PORT: String(port),
      FLAGD_HOST: "127.0.0.1",
      FLAGD_PORT: String(agentPort),
    };
    const stdio = ["ignore", "ignore", "pipe"] as const;
    service = spawn(process.execPath, ["service.mjs"], { ...here, env, stdio: [...stdio] });
    service.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
  }

  async function loop(): Promise<readonly string[]> {
    const line = blockWith("for i in").replace("localhost:3000", `127.0.0.1:${port}`);
    return counts((await run("sh", ["-c", line], here)).stdout);
  }

  /** How many of the page's users have the new checkout, asked by fewer processes than the page's loop takes. */
  async function count(): Promise<number> {
    const users = Array.from({ length: 100 }, (_, index) => `user-${index + 1}`);
    const asked = users.map(async (user) => (await fetch(`http://127.0.0.1:${port}/?user=${user}`)).text());
    return (await Promise.all(asked)).filter((text) => text === "the new checkout\n").length;
  }

  it("gives a service that is started before the agent its flags, for one user in ten", async () => {
    const agentPort = await freePort();
    startService(agentPort);
    const [, args = ""] = /^npx bunting-agent start (.*)$/m.exec(blockWith("npx bunting-agent")) ?? [];
    agent = await startAgent([...args.split(" "), "--port", String(agentPort)], {
      directory: directory.path,
    });
    await eventually(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/?user=user-9`).catch(() => undefined);
      return (await answer?.text()) === "the new checkout\n";
    }, `the service has the flag; it said: ${said}`);
    expect(await loop()).to.deep.equal(counts(blockWith("  95 the old checkout")));
    expect(await count()).to.equal(5);
  });

  it("has the service follow the edit, without a restart", async () => {
    await run("sh", ["-c", blockWith("sed -i")], here);
    await eventually(async () => (await count()) > 5, "the edit is in the answers");
    expect(await loop()).to.deep.equal(counts(blockWith("  57 the old checkout")));
    expect(service.exitCode, said).to.equal(null);
  });

  it("passes the check and the tests in CI, and fails them where the flag is wrong", async () => {
    const commands = blockWith("node --test").replace(/^node /m, `'${process.execPath}' `);
    // A run of node's tests within another one would print what that one reads.
    const env = { ...process.env };
    delete env["NODE_TEST_CONTEXT"];
    await run("sh", ["-ec", commands], { ...here, env });
    copyFileSync(path.join(example, "flags/checkout.yaml"), directory.file("flags/checkout.yaml"));
    const failed = await run("sh", ["-ec", commands], { ...here, env }).catch((error: unknown) => error);
    expect(failed).to.have.property("stdout").that.includes("of 1000 have it");
  });

  it("needs commands that are there: its archives are those of a release, and its SDK what examples have", () => {
    const [, script = ""] = /^npm run (\S+)/m.exec(blockWith("npm run release")) ?? [];
    const manifest = (file: string) =>
      JSON.parse(readFileSync(path.join(repository, file), "utf8")) as Record<string, Record<string, string>>;
    expect(manifest("package.json")["scripts"]).to.have.property(script);
    const installed = /^npm install (@.*)$/m.exec(blockWith("npm init"))?.[1]?.split(" ") ?? [];
    expect(manifest("examples/package.json")["dependencies"]).to.include.keys(...installed);
  });
});
