/**
 * `npm run house`: counts what the product's sources are held to, and fails if a figure is worse than its bound in bounds.json. `-v` lists the
 * places; a figure that is worse lists them anyway. `--tighten` lowers the bounds to what is reached.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { workspaceGraph } from "../imports/workspace-graph.js";
import { houseFigures } from "./figures.js";
import { readProductFiles } from "./product-file.js";
import { houseTable } from "./table.js";
import { tightened, verdicts, type Bounds } from "./verdict.js";

const boundsFile = path.join(import.meta.dirname, "bounds.json");
const root = path.dirname(path.dirname(import.meta.dirname));
const { verbose, tighten } = parseArgs({
  options: {
    verbose: { type: "boolean", short: "v", default: false },
    tighten: { type: "boolean", default: false },
  },
}).values;

const bounds = JSON.parse(readFileSync(boundsFile, "utf8")) as Bounds;
const results = verdicts(houseFigures(readProductFiles(root), await workspaceGraph()), bounds);
console.log(houseTable(results, verbose));
if (tighten) writeFileSync(boundsFile, `${JSON.stringify(tightened(results), undefined, 2)}\n`);
const worse = results.filter(({ state }) => state === "worse").map(({ figure }) => figure.name);
if (worse.length > 0) {
  console.error(
    `house: worse than before: ${worse.join(", ")}. A bound is raised only with its reason, in the same commit.`,
  );
  process.exitCode = 1;
}
