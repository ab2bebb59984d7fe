import { randomInt } from "node:crypto";

/**
 * Where all random tests start from: BUNTING_TEST_SEED, a whole number below 2^31, or `random` for another one each time. Without it the seed is
 * fixed, so that a test which fails says something about the change, not about the day. seed-hooks.ts prints it beside each failure of such a test.
 */
export const testSeed = parseSeed(process.env["BUNTING_TEST_SEED"]);

/** The seeds of a model, `usual` of them unless BUNTING_MODEL_RUNS says how many. The first is `testSeed`, so that each can be run alone. */
export function modelSeeds(usual: number): number[] {
  const runs = Number(process.env["BUNTING_MODEL_RUNS"] ?? usual);
  return Array.from({ length: runs }, (_, index) => testSeed + index);
}

/** @throws Error if it is neither a seed nor `random`. */
export function parseSeed(text = "1"): number {
  if (text === "random") return randomInt(2 ** 31);
  const seed = /^\d+$/.test(text) ? Number(text) : Infinity;
  if (seed >= 2 ** 31)
    throw new Error(`BUNTING_TEST_SEED is ${text}: give a whole number below 2^31, or random`);
  return seed;
}
