import { expect } from "chai";
import { houseTable } from "./table.js";
import { tightened, verdicts } from "./verdict.js";

const figure = (name: string, now: number) => ({
  name,
  now,
  offenders: [{ file: "a.ts", line: 3, text: `a place of ${name}` }],
});

describe("verdicts on figures", () => {
  const bounds = {
    circles: { bound: 1, target: 0 },
    bags: { bound: 5, target: 2 },
    lines: { bound: 9, target: 9 },
  };
  const results = verdicts([figure("circles", 2), figure("bags", 4), figure("lines", 9)], bounds);

  it("say which figure is worse than its bound, and which is better", () => {
    expect(results.map(({ state }) => state)).to.deep.equal(["worse", "better", "kept"]);
  });

  it("lower the bounds to what is reached, and never raise one", () => {
    expect(tightened(results)).to.deep.equal({
      circles: { bound: 1, target: 0 },
      bags: { bound: 4, target: 2 },
      lines: { bound: 9, target: 9 },
    });
  });

  it("are refused where a figure has no bound or a bound no figure", () => {
    expect(() => verdicts([figure("circles", 0), figure("odd", 0)], bounds)).to.throw('has "bags"');
    expect(() => verdicts([figure("circles", 0), figure("odd", 0)], { circles: bounds.circles })).to.throw(
      'has no "odd"',
    );
  });

  it("show the places of what is worse, and with -v all places", () => {
    expect(houseTable(results, false).split("\n")).to.deep.equal([
      "figure   now  bound  target",
      "circles    2      1       0  WORSE than its bound",
      "    a.ts:3 a place of circles",
      "bags       4      5       2  better: lower the bound with `npm run house -- --tighten`",
      "lines      9      9       9  on target",
    ]);
    expect(houseTable(results, true)).to.contain("a place of bags").and.contain("a place of lines");
  });
});
