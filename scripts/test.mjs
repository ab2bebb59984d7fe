// Runs the tests; arguments go to mocha (`npm test -- --grep selector`). Ends with mocha's numbers and the line CI reads.
import { spawn } from "node:child_process";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const args = process.argv.slice(2);
const specs = args.some((arg) => arg.endsWith(".test.ts"))
  ? []
  : ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "bench/{fixtures,load}/*.test.ts"];
const mocha = spawn(
  process.execPath,
  [path.join(root, "node_modules/mocha/bin/mocha.js"), ...args, ...specs],
  {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  },
);
let tail = "";
mocha.stdout.on("data", (chunk) => {
  process.stdout.write(chunk);
  tail = (tail + chunk).slice(-200_000);
});
mocha.once("close", (code) => {
  const count = (word) => Number(tail.match(new RegExp(`^\\s*(\\d+) ${word}`, "m"))?.[1] ?? 0);
  const [passed, failed, pending] = [count("passing"), count("failing"), count("pending")];
  console.log(`${passed} passed, ${failed} failed${pending > 0 ? `, ${pending} skipped` : ""}`);
  process.exitCode = passed === 0 ? 1 : (code ?? 1);
});
