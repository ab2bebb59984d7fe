"use strict";
// Preloaded into the processes of a soak, whose images have --expose-gc: what is left after a collection is what they hold. Not so after one of the usual kind: V8
// keeps pages that it has emptied, 41 of the 77 MB of a proxy, more or fewer of them after each crowd of clients. That looked like growth.
const knowsOptions = Number.parseInt(process.versions.v8, 10) >= 12;
const lastResort = { type: "major", execution: "sync", flavor: "last-resort" };
process.on("SIGUSR2", () => globalThis.gc(...(knowsOptions ? [lastResort] : [])));
