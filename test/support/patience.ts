/**
 * By how much longer than on a quiet machine tests wait before they fail. The gate sets it, because its stages share the machine. A hang is found
 * as well, only later; no test may assert how fast something is.
 */
export const patience = Number(process.env["BUNTING_TEST_PATIENCE"] ?? 1);

/** As long as this on a machine that is quiet; longer in a gate. */
export function patient(quietMs: number): number {
  return quietMs * patience;
}
