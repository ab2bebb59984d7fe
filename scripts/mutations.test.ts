import { expect } from "chai";
import { mutationsOf } from "./mutations.js";

const described = (text: string): string[] => mutationsOf("a.ts", text).map(({ description }) => description);

describe("mutations of a source", () => {
  it("turn operators", () => {
    expect(described("const x = a < b && c;")).to.deep.equal(["a < b && c → a < b || c", "a < b → a <= b"]);
  });

  it("let conditions always and never hold", () => {
    expect(described("if (a) b = 1;")).to.deep.equal(["a → true", "a → false"]);
    expect(described("const x = a ? 1 : 2;")).to.deep.equal(["a → true", "a → false"]);
  });

  it("return nothing, call nothing, and turn truth", () => {
    expect(described("function f() { g(); return 1; }")).to.deep.equal([
      "g(); → ;",
      "return 1; → return undefined;",
    ]);
    expect(described("this.on = true;")).to.deep.equal(["this.on = true → this.on = false"]);
    expect(described("class A extends B { constructor() { super(); } }")).to.deep.equal([]);
  });

  it("leave types and imports alone", () => {
    expect(
      described('import { a } from "b"; interface C { readonly d: true }\nlet e: true | false;'),
    ).to.deep.equal([]);
  });

  it("have the line, and the source with one change", () => {
    expect(mutationsOf("a.ts", "// first\nconst x = a + b; // kept\n")).to.deep.equal([
      { line: 2, description: "a + b → a - b", text: "// first\nconst x = a - b; // kept\n" },
    ]);
  });
});
