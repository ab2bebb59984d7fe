/** Where a Flagd is reached by HTTP, unless it says otherwise. */
export const flagdPaths = Object.freeze({
  evaluation: "/flagd.evaluation.v1.Service",
  ofrep: "/ofrep",
  sync: "/flagd.sync.v1.Service",
});
