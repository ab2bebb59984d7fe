import { expect } from "chai";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { withLock } from "./lock-file.js";

describe("a lock between processes", () => {
  let directory: string;
  let lock: string;
  let log: string;
  let child: ChildProcess | undefined;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-lock-"));
    lock = path.join(directory, "lock");
    log = path.join(directory, "log");
  });
  afterEach(() => {
    child?.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  });

  /** Another process, once it has printed something. */
  async function start(script: string): Promise<ChildProcess> {
    const module = pathToFileURL(path.join(import.meta.dirname, "lock-file.ts")).href;
    const imports = `
      import { appendFileSync } from "node:fs";
      import { once } from "node:events";
      import { withLock, withLockSync } from ${JSON.stringify(module)};`;
    const flags = ["--import=tsx", "--input-type=module", "--eval", imports + script];
    child = spawn(process.execPath, flags, { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout ?? child, "data");
    return child;
  }

  /** A process that holds the lock until its input ends, and writes that down before it lets go. */
  const hold = (): Promise<ChildProcess> =>
    start(`
      await withLock(${JSON.stringify(lock)}, async () => {
        console.log("held");
        process.stdin.resume();
        await once(process.stdin, "end");
        appendFileSync(${JSON.stringify(log)}, "first ");
      });`);

  const second = (): Promise<void> => {
    appendFileSync(log, "second");
    return Promise.resolve();
  };

  it("is given to one at a time: the next one works once the first has ended its work", async () => {
    const other = await hold();
    const waiting = withLock(lock, second);
    other.stdin?.end();
    await waiting;
    expect(readFileSync(log, "utf8")).to.equal("first second");
  });

  it("is given to one at a time also where waiting holds up the process", async () => {
    const asking = await withLock(lock, async () => {
      const other = await start(`
        console.log("asking");
        withLockSync(${JSON.stringify(lock)}, () => appendFileSync(${JSON.stringify(log)}, "second"));`);
      appendFileSync(log, "first ");
      return other;
    });
    if (asking.exitCode === null) await once(asking, "exit");
    expect(readFileSync(log, "utf8")).to.equal("first second");
  });

  it("is not held by a process that was killed", async () => {
    const other = await hold();
    other.kill("SIGKILL");
    await once(other, "exit");
    expect(existsSync(lock)).to.equal(true);
    await withLock(lock, second);
    expect(readFileSync(log, "utf8")).to.equal("second");
  });

  it("is let go when the work fails", async () => {
    const failure = new Error("no");
    const caught = await withLock(lock, () => Promise.reject(failure)).catch((error: unknown) => error);
    expect(caught).to.equal(failure);
    expect(existsSync(lock)).to.equal(false);
  });
});
