/**
 * How large tests are whose size is free: `gate`, the default, is as large as shows the fault; `full` is as large as what we promise, and for nightly
 * runs. Set by BUNTING_TEST_SCALE.
 */
export type TestScale = "gate" | "full";

export const testScale = scaleOf(process.env["BUNTING_TEST_SCALE"]);

/** A size of a test, by the scale of this run. */
export function scaled<T>(full: T, gate: T): T {
  return testScale === "full" ? full : gate;
}

/** @throws Error if it is no scale: a nightly run that is small without saying so shows nothing. */
export function scaleOf(name: string | undefined): TestScale {
  if (name === undefined || name === "" || name === "gate") return "gate";
  if (name === "full") return "full";
  throw new Error(`BUNTING_TEST_SCALE is ${name}, and must be gate or full`);
}
