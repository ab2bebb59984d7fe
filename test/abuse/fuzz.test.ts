import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { scaled } from "../support/scale.js";
import { modelSeeds } from "../support/seed.js";
import { parseCases } from "./fuzz/fuzz-case.js";
import { fuzz, replay } from "./fuzz/fuzz.js";
import { keepFinding } from "./fuzz/keep-finding.js";

const seconds = scaled(6, 2);
const corpus = path.join(import.meta.dirname, "fuzz/corpus");

/** `npm run fuzz -- --seconds 600` does this for longer. */
describe("the fuzzer", () => {
  for (const seed of modelSeeds(scaled(3, 1))) {
    it(`finds nothing wrong with seed ${seed}`, async () => {
      const { finding, cases } = await fuzz({ seed, seconds });
      expect(cases).to.be.greaterThan(0);
      if (finding !== undefined) expect.fail(`${finding.reason}\n${keepFinding(seed, finding.cases)}`);
    });
  }

  for (const name of readdirSync(corpus)) {
    it(`does not find again what is in ${name}`, async () => {
      expect(await replay(parseCases(readFileSync(path.join(corpus, name), "utf8")))).to.equal(undefined);
    });
  }
});
