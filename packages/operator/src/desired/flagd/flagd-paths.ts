/** Paths by which a Flagd is reached, unless it says otherwise. */
export const flagdPaths = Object.freeze({
  evaluation: "/flagd.evaluation.v1.Service",
  ofrep: "/ofrep",
  sync: "/flagd.sync.v1.Service",
});
