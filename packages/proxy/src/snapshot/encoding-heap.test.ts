import { shapes, type Shape } from "@bunting/protocol/internal/document-shapes.fixture.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { scaled, testScale } from "@bunting/test/support/scale.js";
import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { EncodingReport } from "./encoding-heap.child.js";

const megabyte = 1024 * 1024;
const child = fileURLToPath(new URL("encoding-heap.child.ts", import.meta.url));

/** Those that cost the most for their size, and what people write; all at full scale. */
const usualShapes = ["flags as people write them", "many flags of nothing", "one list of empty objects"];

/**
 * In processes of their own, for a full heap ends the process: whatever comes, a document is read and encoded, or refused, and life goes on. The
 * same shapes are fed to an agent by heap-budget.test.ts: together they hold both columns of heap-weights.ts.
 */
describe("a proxy with a small heap", function () {
  this.timeout(120_000);
  const heapMegabytes = 80;
  let directory: TempDirectory;
  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(() => directory.remove());

  /** Feeds documents that grow, each one followed by another of its size in which every flag is different. The last ones are beyond the heap. */
  const feed = (shape: Shape): EncodingReport[] => {
    const sizes = scaled([0.3, 0.5, 1, 2, 3, 4, 6, 8, 10, 12], [0.3, 4, 10]);
    const files: string[] = [];
    for (const size of sizes)
      for (const seed of [1, 2]) {
        const file = directory.file(`${files.length}.json`);
        writeFileSync(file, shape(size * megabyte, seed));
        files.push(file);
      }
    const flags = ["--max-semi-space-size=1", `--max-old-space-size=${heapMegabytes}`, "--expose-gc"];
    const run = spawnSync(
      process.execPath,
      [...flags, "--conditions=@bunting/source", "--import=tsx", child, ...files],
      { encoding: "utf8", maxBuffer: 64 * megabyte },
    );
    const reports = run.stdout.split("\n").filter((line) => line.startsWith("{"));
    expect(run.status, `after ${reports.at(-1) ?? "nothing"}\n${run.stderr.slice(-2_000)}`).to.equal(0);
    expect(reports).to.have.length(files.length);
    return reports.map((line) => JSON.parse(line) as EncodingReport);
  };

  const fed = Object.entries(shapes).filter(([name]) => testScale === "full" || usualShapes.includes(name));
  for (const [name, shape] of fed)
    it(`survives ${name}`, () => {
      const reports = feed(shape);
      expect(reports[0]?.accepted, "a small document").to.equal(true);
      expect(reports.at(-1)?.accepted, "a document far beyond the heap").to.equal(false);
    });
});
