/**
 * `npm run soak -- [--minutes 60] [--seed 7]`: a proxy, a tier and six agents in their images' limits, under edits, restarts, frozen agents, and clients
 * that come and go (test/soak). Ends with 1 if an answer was wrong or missing, a process was killed, a gauge is not back at zero, or memory grows.
 */
import { parseArgs } from "node:util";
import { soak } from "../test/soak/soak.js";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "60" }, seed: { type: "string", default: "1" } },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error("bunting: --minutes takes a number above 0, and --seed a whole number");
  process.exit(2);
}
console.log(`bunting: soaking for ${minutes} minutes with --seed ${seed}`);
const problems = await soak({ minutes, seed, onLine: (line) => console.log(`bunting: ${line}`) });
console.log(problems.length === 0 ? "bunting: everything held" : `bunting: ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
