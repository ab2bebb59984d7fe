/**
 * `npm run test:busy`: what `npm test` runs, while as many other processes as there are cores keep them busy; arguments are the same. A
 * test that waits for time instead of an event fails here first.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

/** Ends by itself with the process that started it, also if that is killed. */
const busyLoop = `
  for (;;) {
    const untilMs = Date.now() + 100;
    while (Date.now() < untilMs);
    if (process.ppid !== ${process.pid}) process.exit();
  }`;

const loops = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ["-e", busyLoop], { stdio: "ignore" }),
);
for (const loop of loops) loop.unref();
process.on("exit", () => {
  for (const loop of loops) loop.kill("SIGKILL");
});
console.log(`bunting: ${loops.length} processes keep the cores busy meanwhile`);
await import("./test.js");
