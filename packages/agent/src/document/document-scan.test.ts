import { expect } from "chai";
import type { DocumentIndex } from "./document-index.js";
import { DocumentScan } from "./document-scan.js";

const flags = Array.from({ length: 100 }, (_, i) => ({ key: `flag-${i}`, state: "ENABLED", variants: {} }));

function scanOf(document: object, previous?: DocumentIndex) {
  let heaviest = 0;
  const onWeight = (weight: number): void => void (heaviest = Math.max(heaviest, weight));
  const index = new DocumentScan(Buffer.from(JSON.stringify(document)), previous, {
    onWeight,
    maxDepth: 9,
  }).run();
  return { index, heaviest };
}

describe("DocumentScan", () => {
  it("reports as the weight of a list what its flags weigh, although it passes over them more than once", () => {
    const { index, heaviest } = scanOf({ flags });
    expect(heaviest).to.be.closeTo(index.entries.totalWeight(), 100);
  });

  it("counts next to nothing for the flags of a list that are as before", () => {
    const { index } = scanOf({ flags });
    const edited = flags.map((flag, i) => (i === 50 ? { ...flag, state: "DISABLED" } : flag));
    expect(scanOf({ flags: edited }, index).heaviest).to.be.lessThan(5 * index.entries.weight(50));
  });
});
