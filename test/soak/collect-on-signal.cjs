"use strict";
// Preloaded into the processes of a soak, whose images have --expose-gc: what is left after a collection is what they hold.
process.on("SIGUSR2", () => globalThis.gc());
