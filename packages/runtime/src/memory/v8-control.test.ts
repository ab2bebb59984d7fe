import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect } from "chai";
import { canCollect, collectGarbage } from "./v8-control.js";

const isNewV8 = Number.parseInt(process.versions.v8, 10) >= 12;

describe("collectGarbage", () => {
  const { gc } = globalThis;
  let collections: unknown[][];

  beforeEach(() => {
    collections = [];
    globalThis.gc = ((...args: unknown[]) => void collections.push(args)) as NonNullable<typeof gc>;
  });

  afterEach(() => {
    Reflect.set(globalThis, "gc", gc);
  });

  it("has V8 collect what is asked for", () => {
    expect(canCollect()).to.equal(true);
    for (const collection of ["young", "all", "last-resort"] as const) collectGarbage(collection);
    expect(collections).to.deep.equal([
      [{ type: "minor" }],
      [],
      isNewV8 ? [{ type: "major", execution: "sync", flavor: "last-resort" }] : [],
    ]);
  });

  it("does nothing where node runs without --expose-gc", () => {
    Reflect.deleteProperty(globalThis, "gc");
    expect(canCollect()).to.equal(false);
    collectGarbage("all");
    expect(collections).to.deep.equal([]);
  });
});

describe("V8", () => {
  it("collects young garbage alone, all of it, or what an allocation that failed would, as it is asked", () => {
    const module = path.join(import.meta.dirname, "v8-control.ts");
    const script = `
      import { collectGarbage } from ${JSON.stringify(module)};
      for (const collection of ["young", "all", "last-resort"]) {
        console.log(collection);
        collectGarbage(collection);
      }
      console.log("done");`;
    const { stdout, status } = spawnSync(
      process.execPath,
      ["--import=tsx", "--expose-gc", "--trace-gc", "--input-type=module", "-e", script],
      { encoding: "utf8" },
    );
    expect(status).to.equal(0);
    const lines = stdout.slice(stdout.indexOf("young\n")).split("\n");
    const between = (from: string, to: string): string =>
      lines.slice(lines.indexOf(from), lines.indexOf(to)).join();
    // V8 may collect young garbage in between.
    const fullIn = (text: string): number => text.split("Mark-Compact").length - 1;
    expect(between("young", "all")).to.include("Scavenge").and.not.include("Mark-Compact");
    expect(fullIn(between("all", "last-resort"))).to.equal(1);
    const last = fullIn(between("last-resort", "done"));
    expect(last).to.be.greaterThan(0);
    // Node 20 has no such flavour: all is collected once.
    if (isNewV8) expect(last).to.be.greaterThan(1);
  });
});
