import { availableParallelism } from "node:os";
import { slotCount } from "../test/support/port-slice.js";

/** Set to run more or fewer mochas at once than twice the cores. */
const variable = "BUNTING_TEST_PROCESSES";

/**
 * How many mochas run at once: twice as many as there are cores, since a test mostly waits for processes and sockets, and never more than
 * have ports of their own.
 *
 * @throws Error if the variable does not hold a number from 1 on.
 */
export function mochaCount(
  environment: NodeJS.ProcessEnv = process.env,
  cores = availableParallelism(),
): number {
  const asked = environment[variable];
  if (asked === undefined || asked === "") return Math.min(2 * cores, slotCount - 1);
  const count = Number(asked);
  if (!Number.isInteger(count) || count < 1)
    throw new Error(
      `${variable} is ${JSON.stringify(asked)}: set it to how many mochas may run at once, such as 4`,
    );
  return Math.min(count, slotCount);
}
