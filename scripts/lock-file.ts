import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Between two looks at a file that another process holds. */
const pauseMs = 200;

/** Does the work while no other process of this machine does it: several commands that need the same build do not build it twice. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  for (let waited = false; !take(file); waited = true) {
    if (!waited) report(file);
    await delay(pauseMs);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** The same for work that holds up this process. */
export function withLockSync<T>(file: string, work: () => T): T {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waited = false; !take(file); waited = true) {
    if (!waited) report(file);
    Atomics.wait(pause, 0, 0, pauseMs);
  }
  try {
    return work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Whether the file is now this process's. A process that was killed holds nothing, though its file is still there. */
function take(file: string): boolean {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    // Unlike a file that is created and then written, a link never has only half of its content.
    linkSync(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const holder = holderOf(file);
    if (holder === undefined || !isAlive(holder)) rmSync(file, { force: true });
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

function holderOf(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function report(file: string): void {
  const holder = holderOf(file);
  if (holder !== undefined)
    process.stderr.write(`bunting: waiting for process ${holder}, which is building the same\n`);
}
