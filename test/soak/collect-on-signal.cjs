"use strict";
// Preloaded into the processes of a soak, whose images have --expose-gc: what is left after a collection is what they hold. Not so after one of the usual kind: V8
// keeps pages that it has emptied, 41 of the 77 MB of a proxy, more or fewer of them after each crowd of clients. That looked like growth.
const knowsOptions = Number.parseInt(process.versions.v8, 10) >= 12;
const lastResort = { type: "major", execution: "sync", flavor: "last-resort" };
process.on("SIGUSR2", () => {
  globalThis.gc(...(knowsOptions ? [lastResort] : []));
  // What grows in V8's heap is held by somebody; what grows beside it alone may be pages of the allocator, or compiled code.
  const { heapUsed } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ level: "info", msg: "collected", heapBytes: heapUsed })}\n`);
});
