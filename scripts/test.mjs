// Runs the tests that need nothing but Node; arguments go to mocha (`npm test -- --grep selector`). `npm run test:cluster` runs the others.
import { runMocha } from "./run-mocha.mjs";

const args = process.argv.slice(2);
const specs = args.some((arg) => arg.endsWith(".test.ts"))
  ? []
  : [
      "packages/*/src/**/*.test.ts",
      "test/!(cluster)/**/*.test.ts",
      "bench/{fixtures,fan-out,load,servers}/*.test.ts",
    ];
process.exitCode = await runMocha([...args, ...specs]);
