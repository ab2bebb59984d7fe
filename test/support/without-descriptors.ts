import { spawn } from "node:child_process";
import { once } from "node:events";

/** Runs something while this process can open nothing, as one that has used up its descriptors. It takes Linux. */
export async function withoutDescriptors<Result>(run: () => Promise<Result>): Promise<Result> {
  const limits = `prlimit --pid ${process.pid} --nofile`;
  // Started before: what raises the limit again could not be.
  const script = `before=$(${limits} --output=SOFT --noheadings) && ${limits}=3: && echo && read -r _; ${limits}=$before:`;
  const shell = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(shell, "close");
  const [said] = (await Promise.race([once(shell.stdout, "data"), ended])) as [unknown];
  if (!Buffer.isBuffer(said)) throw new Error(`prlimit has failed: ${String(said)}`);
  try {
    return await run();
  } finally {
    shell.stdin.end();
    await ended;
  }
}
