import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { buildSync } from "esbuild";
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { once } from "node:events";

/**
 * Logs far more than a pipe holds, says so on stdout, and logs one line more when it is told. It runs without tsx, whose esbuild would have the same
 * stderr: node makes that block again for both.
 */
const script = `
  import { createLogger } from "./logger.js";
  const logger = createLogger({ format: "json", debug: false });
  const [, , lines = 100, end] = process.argv;
  for (let i = 0; i < lines; i++) logger.info({ i, text: "x".repeat(20_000) }, "unread");
  process.stdout.write("still here\\n");
  if (end === "error") throw new Error("the last words");
  if (end === "exit") process.exit(7);
  process.stdin.once("data", () => {
    logger.info("last");
    process.exitCode = 7;
    process.stdin.destroy();
  });
`;

describe("LogOutput", () => {
  let directory: TempDirectory;
  let child: ChildProcess | undefined;
  before(() => {
    directory = new TempDirectory();
    buildSync({
      stdin: { contents: script, resolveDir: import.meta.dirname },
      bundle: true,
      platform: "node",
      outfile: directory.file("logs.cjs"),
    });
  });
  after(() => directory.remove());
  afterEach(() => child?.kill("SIGKILL"));

  /** The child once it has logged all, of which nothing is read until then. */
  const started = async (stderr: "pipe" | number, ...args: readonly string[]): Promise<ChildProcess> => {
    const stdio: StdioOptions = ["pipe", "pipe", stderr];
    child = spawn(process.execPath, [directory.file("logs.cjs"), ...args], { stdio });
    const [said] = (await once(child.stdout ?? expect.fail(), "data")) as [Buffer];
    expect(said.toString()).to.equal("still here\n");
    return child;
  };

  it("holds no process whose log nobody reads, and tells how many lines were lost once they are read again", async () => {
    const running = await started("pipe");
    const closed = once(running, "close");
    const read: Buffer[] = [];
    // There is room for the last line once some is read.
    await new Promise<void>((resolve) => {
      running.stderr?.on("data", (chunk: Buffer) => {
        read.push(chunk);
        if (read.length === 2) resolve();
      });
    });
    running.stdin?.write("go on\n");
    await closed;
    const lines = Buffer.concat(read).toString().trimEnd().split("\n");
    const logged = lines.map((line) => JSON.parse(line) as { msg: string; lines?: number });
    const unread = logged.filter(({ msg }) => msg === "unread");
    const told = logged.find(({ lines: lost }) => lost !== undefined);
    expect(unread).to.have.length.within(1, 99);
    expect(told?.lines).to.equal(100 - unread.length);
    expect(logged.map(({ msg }) => msg)).to.include("last");
  });

  for (const [how, code] of [
    ["error", 1],
    ["exit", 7],
  ] as const)
    it(`has all lines of a process that ends in the turn of a burst, by an ${how}`, async () => {
      const ending = await started("pipe", "18", how);
      const read: Buffer[] = [];
      ending.stderr?.on("data", (chunk: Buffer) => read.push(chunk));
      expect(await once(ending, "close")).to.deep.equal([code, null]);
      const said = Buffer.concat(read).toString();
      const lines = Array.from(said.matchAll(/^\{.*"i":(\d+),.*\}$/gm), ([, i]) => Number(i));
      expect(lines).to.deep.equal(Array.from({ length: 18 }, (_, i) => i));
    });

  it("ends no process whose log can't be stored", async () => {
    const full = openSync("/dev/full", "w");
    try {
      const running = await started(full);
      const exit = once(running, "exit");
      running.stdin?.write("go on\n");
      expect(await exit).to.deep.equal([7, null]);
    } finally {
      closeSync(full);
    }
  });

  it("ends no process whose log's reader has gone", async () => {
    const running = await started("pipe");
    running.stderr?.destroy();
    const exit = once(running, "exit");
    running.stdin?.write("go on\n");
    expect(await exit).to.deep.equal([7, null]);
  });
});
