import { expect } from "chai";
import { buildSync } from "esbuild";
import { createLogger } from "@bunting/runtime";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { scaled } from "@bunting/test/support/scale.js";
import { AgentError } from "../agent-error.js";
import type { ChildReport } from "./heap-budget.child.js";
import { shapes, type Shape } from "@bunting/protocol/internal/document-shapes.fixture.js";
import { FlagStore } from "./flag-store.js";
import { HeapBudget } from "./heap-budget.js";
import { noStoreMetrics } from "./store-metrics.fixture.js";

const megabyte = 1024 * 1024;

/** Shapes that tell most about a budget, the most telling first. The gate feeds the first four, the night all of these; other shapes are fed only when measuring. */
const usualShapes = [
  "flags as people write them",
  "many flags of nothing",
  "one rule of many constant conditions",
  "one long text with an emoji",
  "many rules",
  "many flags of one shared rule",
  "one rule of a long list",
  "one rule of many negations",
  "one rule of many paths",
  "one rule of many names",
  "one rule of one long path",
  "one rule of many splits",
];

/** Rules and objects that take much more of the heap than their text shows, as the first document, which has all of the budget. */
const heavyShapes = [
  "much metadata of the set",
  "one shared rule of a long list",
  "one rule of many rules for items",
  "one rule of many lists",
  "one rule of many rules in a rule for items",
  "one rule of many list operators",
  "one rule of many sums",
  "one rule of many results",
  "one rule of many buckets",
  "one rule of an object of many keys",
  "one flag of many variants",
  "one flag of much metadata",
  "many evaluators of a number",
  "many evaluators that refer to the one before",
  "one list of long texts beyond Latin-1",
];

function storeIn(heapBytes: number, sources = [{ uri: "" }], sourcesBytes = 0): FlagStore {
  return new FlagStore({
    sources,
    budget: new HeapBudget(heapBytes, sourcesBytes),
    context: {
      logger: createLogger({ format: "json", debug: false }, { write: () => undefined }),
      metrics: noStoreMetrics,
    },
  });
}

describe("HeapBudget", () => {
  it("says how large the document is, how much memory there is for it, and what to do", () => {
    const budget = new HeapBudget(35 * megabyte);
    expect(() => budget.checkDocument(5 * megabyte))
      .to.throw(
        AgentError,
        /a document of 5\.0 MB .* 4\.4 MB .*raise the container's memory limit, or --max-old-space-size/,
      )
      .with.property("code", "DOCUMENT_TOO_LARGE");
    expect(() => budget.checkFlags(2 * megabyte, 10 * megabyte, 11 * megabyte))
      .to.throw(
        AgentError,
        /document of 2\.0 MB need at least 11\.0 MB of heap beside the 10\.0 MB .* may take 20\.0 MB/,
      )
      .with.property("code", "DOCUMENT_TOO_LARGE");
    budget.checkDocument(4 * megabyte);
    budget.checkFlags(2 * megabyte, 10 * megabyte, 10 * megabyte);
  });

  it("is one for two stores that are held at once, which count once what they share", () => {
    const document = (seed: number): Buffer =>
      Buffer.from(shapes["many flags of nothing"]?.(50_000, seed) ?? "");
    // Room for two of these, and not for three.
    const [store, other] = [storeIn(20 * megabyte), storeIn(20 * megabyte)];
    store.replace(0, document(1));
    other.adopt(0, store, 0);
    store.holdBeside(other);
    other.holdBeside(store);
    other.replace(0, document(2));
    expect(() => other.replace(0, document(3))).to.throw(AgentError, "need at least");
    expect(store.takeCrowdedOut()).to.deep.equal([]);
    expect(other.takeCrowdedOut(), "there is no room yet").to.deep.equal([]);
    other.holdBeside(undefined);
    expect(other.takeCrowdedOut()).to.deep.equal([0]);
    expect(other.takeCrowdedOut()).to.deep.equal([]);
    other.replace(0, document(3));
    expect(other.takeCrowdedOut()).to.deep.equal([]);
  });

  it("takes what needs less than the flags in use also where these are more than there is room for", () => {
    const document = (flags: number): Buffer =>
      Buffer.from(`{"flags":{${Array.from({ length: flags }, (_, i) => `"${100_000 + i}":{}`).join(",")}}}`);
    const [store, other] = [storeIn(20 * megabyte), storeIn(20 * megabyte, undefined, 7 * megabyte)];
    store.replace(0, document(7_000));
    other.adopt(0, store, 0);
    expect(() => other.replace(0, document(7_001))).to.throw(AgentError, "need at least");
    for (const flags of [6_000, 0]) {
      other.replace(0, document(flags));
      expect(other.flags()).to.have.length(flags);
    }
  });

  it("counts the evaluators of all sources, once each, whether a flag refers to them or not", () => {
    const document = (state: string, seed: number): Buffer => {
      const rules = Array.from({ length: 40_000 }, () => "{}").join(",");
      return Buffer.from(`{"$evaluators":{"a":[${rules},${seed}]},"flags":{"a":{"state":"${state}"}}}`);
    };
    const sources = [1, 2, 3].map((index) => ({ uri: `${index}` }));
    const store = storeIn(32 * megabyte, sources);
    store.replace(0, document("ENABLED", 1));
    store.replace(1, document("ENABLED", 2));
    for (const state of ["DISABLED", "ENABLED"]) store.replace(0, document(state, 1));
    expect(() => store.replace(2, document("ENABLED", 3))).to.throw(AgentError, "need at least");
  });

  it("counts the set's metadata once for each flag: in-process providers get it in each", () => {
    const flags = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`flag-${index}`, {}]));
    const withMetadata = (bytes: number): Buffer =>
      Buffer.from(JSON.stringify({ flags, metadata: { note: "x".repeat(bytes) } }));
    const store = storeIn(32 * megabyte);
    store.replace(0, withMetadata(1_000));
    expect(() => store.replace(0, withMetadata(100_000))).to.throw(AgentError, "need at least");
    expect(store.flag("", "flag-1")?.metadata).to.deep.equal({ note: "x".repeat(1_000) });
  });

  it("counts the set's metadata once for each flag with metadata of its own: each has a copy", () => {
    const document = Buffer.from(shapes["many flags with copies of the set's metadata"]?.(200_000, 1) ?? "");
    const withoutCopies = Buffer.from(document.toString().replaceAll('{"metadata":{"own":1}}', "{}"));
    const store = storeIn(32 * megabyte);
    store.replace(0, withoutCopies);
    expect(() => store.replace(0, document)).to.throw(AgentError, "of heap beside the");
    expect(store.flags().length).to.be.greaterThan(4_000);
  });

  it("has less room for flags by what the sources take, of which it allows no more than three quarters", () => {
    const budget = new HeapBudget(35 * megabyte);
    expect(new HeapBudget(35 * megabyte, 5 * megabyte).flagBytes).to.equal(budget.flagBytes - 5 * megabyte);
    budget.checkSources(314, 314 * 50_000);
    expect(() => budget.checkSources(315, 315 * 50_000))
      .to.throw(AgentError, "315 sources need about 15.0 MB of heap beside their flags")
      .with.property("code", "OPTION_INVALID");
  });

  it("has no room for flags if the heap is smaller than the agent itself", () => {
    expect(new HeapBudget(4 * megabyte).flagBytes).to.equal(0);
  });

  it("uses the heap limit of this process by default", () => {
    expect(new HeapBudget().flagBytes).to.be.greaterThan(100 * megabyte);
  });
});

/** In processes of their own, for a full heap ends the process: whatever comes, a document is taken over or refused, and life goes on. */
describe("a process with a small heap", function () {
  this.timeout(120_000);
  // BUNTING_HEAP_LIMITS=24,32,40,64,96 measures every shape in small steps: this is what the budget was found with, and takes ten minutes.
  const measured = process.env["BUNTING_HEAP_LIMITS"];
  const limits = (measured ?? "32").split(",").map(Number);
  const growth = measured === undefined ? scaled(1.6, 2.4) : 1.2;
  const usual = usualShapes.slice(0, scaled(usualShapes.length, 4));
  const fed = Object.entries(shapes).filter(([name]) => measured !== undefined || usual.includes(name));
  let directory: TempDirectory;
  before(() => {
    directory = new TempDirectory();
    buildSync({
      entryPoints: [path.join(import.meta.dirname, "heap-budget.child.ts")],
      outfile: directory.file("child.mjs"),
      bundle: true,
      minify: true,
      platform: "node",
      format: "esm",
      target: "node20",
      conditions: ["@bunting/source"],
      banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
      logLevel: "error",
    });
  });
  after(() => directory.remove());

  /** Feeds the documents to a process, one after the other. */
  const feed = (limitMegabytes: number, documents: readonly string[]): ChildReport[] => {
    const files = documents.map((document, index) => {
      const file = directory.file(`${index}.json`);
      writeFileSync(file, document);
      return file;
    });
    const child = spawnSync(
      process.execPath,
      [
        "--max-semi-space-size=1",
        `--max-old-space-size=${limitMegabytes}`,
        directory.file("child.mjs"),
        "--heap-budget-child",
        ...files,
      ],
      { encoding: "utf8", maxBuffer: 64 * megabyte, env: {} },
    );
    const reports = child.stdout
      .trim()
      .split("\n")
      .filter((line) => line.startsWith('{"accepted"'));
    expect(child.status, `after ${reports.at(-1) ?? "nothing"}\n${child.stderr.slice(-2_000)}`).to.equal(0);
    expect(reports).to.have.length(files.length);
    return reports.map((line) => JSON.parse(line) as ChildReport);
  };

  /** Documents that grow, each one followed by another of its size in which every flag is different. */
  function* growing(shape: Shape, limitMegabytes: number): Iterable<string> {
    // Twice of what there is for one document, whatever it is made of.
    const largest = (limitMegabytes / 4) * megabyte;
    for (let bytes = 50_000; bytes < largest * growth; bytes = Math.ceil(bytes * growth))
      for (const seed of [1, 2]) yield shape(bytes, seed);
  }

  for (const limitMegabytes of limits) {
    for (const [name, shape] of fed) {
      it(`of ${limitMegabytes} MB survives ${name}`, () => {
        const reports = feed(limitMegabytes, [...growing(shape, limitMegabytes)]);
        expect(reports[0]?.accepted, "a small document").to.equal(true);
        expect(reports.at(-1)?.accepted, "a document far beyond the budget").to.equal(false);
        if (measured !== undefined) console.log(summary(limitMegabytes, name, reports));
      });
    }
  }

  for (const name of heavyShapes.slice(0, scaled(heavyShapes.length, 4)))
    it(`of 32 MB survives the largest document that it takes of ${name}`, () => {
      const shape = shapes[name] ?? expect.fail(name);
      const bytes = largestTaken(shape, 35 * megabyte);
      const [first, second] = feed(32, [shape(bytes, 1), shape(bytes * 1.05, 2)]);
      expect([first?.accepted, second?.accepted]).to.deep.equal([true, false]);
    });
});

/** The size of the largest document that a store with so much heap takes, with nothing before it; to one part in a hundred. */
function largestTaken(shape: Shape, heapBytes: number): number {
  let [taken, refused] = [50_000, heapBytes / 8];
  while (refused - taken > taken / 100) {
    const bytes = Math.floor((taken + refused) / 2);
    try {
      storeIn(heapBytes).replace(0, Buffer.from(shape(bytes, 1)));
      taken = bytes;
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== "DOCUMENT_TOO_LARGE") throw error;
      refused = bytes;
    }
  }
  return taken;
}

function summary(limitMegabytes: number, name: string, reports: readonly ChildReport[]): string {
  const accepted = reports.filter((report) => report.accepted);
  const most = (of: readonly ChildReport[], part: (report: ChildReport) => number): string =>
    (Math.max(...of.map(part)) / megabyte).toFixed(1);
  return [
    `${limitMegabytes} MB, ${name}`,
    `largest document ${most(accepted, (report) => report.documentBytes)} MB`,
    `heap used ${most(reports, (report) => report.heapUsedBytes)} of ${most(reports, (report) => report.heapLimitBytes)} MB`,
  ].join(" | ");
}
