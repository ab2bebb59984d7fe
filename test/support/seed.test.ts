import path from "node:path";
import { expect } from "chai";
import fc from "fast-check";
import { isRandom, repetitionOf } from "./seed-hooks.js";
import { modelSeeds, parseSeed, testSeed } from "./seed.js";

describe("the seed of random tests", () => {
  it("is fixed unless BUNTING_TEST_SEED says otherwise", () => {
    expect([parseSeed(undefined), parseSeed("7")]).to.deep.equal([1, 7]);
    expect(new Set(Array.from({ length: 10 }, () => parseSeed("random"))).size).to.be.greaterThan(1);
    for (const wrong of ["", "-1", "1.5", "monday", String(2 ** 31)])
      expect(() => parseSeed(wrong), wrong).to.throw("give a whole number below 2^31, or random");
  });

  it("is that of each property, and the first of each model", () => {
    const draw = (): number[] => fc.sample(fc.nat(), 20);
    expect(draw()).to.deep.equal(fc.sample(fc.nat(), { numRuns: 20, seed: testSeed }));
    expect(modelSeeds(3)[0]).to.equal(testSeed);
  });

  it("is printed with the command that repeats a random test which failed", () => {
    const failed = (title: string, message: string): Parameters<typeof isRandom>[0] => ({
      fullTitle: () => title,
      err: new Error(message),
    });
    const property = fc.check(fc.property(fc.nat(), () => false));
    expect(isRandom(failed("a property", fc.defaultReportMessage(property) ?? ""))).to.equal(true);
    expect(isRandom(failed("a model (seed 3)", "it is behind"))).to.equal(true);
    expect(isRandom(failed("a port", "it is taken"))).to.equal(false);
    const file = (name: string): { file: string } => ({
      file: path.resolve(import.meta.dirname, "..", name),
    });
    expect(repetitionOf(file("cluster/watch.model.test.ts"))).to.equal(
      `BUNTING_TEST_SEED=${testSeed} npm run test:cluster -- test/cluster/watch.model.test.ts`,
    );
    expect(repetitionOf(file("../packages/rpc/a.test.ts"))).to.equal(
      `BUNTING_TEST_SEED=${testSeed} npm test -- packages/rpc/a.test.ts`,
    );
  });
});
