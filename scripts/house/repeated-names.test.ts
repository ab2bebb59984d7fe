import { expect } from "chai";
import { productFile } from "./product-file.js";
import { repeatedNames } from "./repeated-names.js";

describe("repeatedNames", () => {
  it("counts a name once, however many files declare it, and types apart from functions", () => {
    const [types, functions] = repeatedNames([
      productFile("a.ts", "export interface Answer {}\nexport function open() {}\nexport class Only {}"),
      productFile("b.ts", "\nexport type Answer = string;\nexport const open = 1;"),
      productFile("c.ts", "export class Answer {}"),
    ]);
    expect(types?.offenders).to.deep.equal([
      { file: "a.ts", line: 1, text: "Answer, and in b.ts:2, c.ts:1" },
    ]);
    expect(functions?.offenders).to.deep.equal([{ file: "a.ts", line: 2, text: "open, and in b.ts:3" }]);
  });

  it("counts neither names that are passed on, nor private ones, nor what one file declares in several steps", () => {
    const figures = repeatedNames([
      productFile(
        "a.ts",
        "export interface Kind {}\nexport class Kind {}\nexport function f(a: string): void;\nexport function f(): void {}\ninterface Own {}",
      ),
      productFile("b.ts", 'export { Kind } from "./a.js";\nexport interface Own {}'),
    ]);
    expect(figures.map(({ now }) => now)).to.deep.equal([0, 0]);
  });
});
