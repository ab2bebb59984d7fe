import { expect } from "chai";
import { readImports } from "./read-imports.js";

describe("readImports", () => {
  const imports = (text: string) => readImports("a.ts", text).imports;

  it("tells names, namespaces, imports for their effects and dynamic ones", () => {
    expect(imports('import base, { a, b as c } from "./a.js";')).to.deep.equal([
      { specifier: "./a.js", names: ["default", "a", "b"], isTypeOnly: false },
    ]);
    const all = { specifier: "./a.js", names: "all", isTypeOnly: false };
    expect(imports('import * as a from "./a.js";')).to.deep.equal([all]);
    expect(imports('import "./a.js";')).to.deep.equal([all]);
    expect(imports('if (late) { const { a } = await import("./a.js"); }')).to.deep.equal([all]);
  });

  it("tells what is gone at run time", () => {
    expect(imports('import type { A } from "./a.js"; import { b, type C } from "./b.js";')).to.deep.equal([
      { specifier: "./a.js", names: ["A"], isTypeOnly: true },
      { specifier: "./b.js", names: ["b"], isTypeOnly: false },
    ]);
    expect(imports('type A = import("./a.js").A;')).to.deep.equal([
      { specifier: "./a.js", names: "all", isTypeOnly: true },
    ]);
  });

  it("does not take comments and texts for imports", () => {
    expect(imports('// import "./a.js";\nconst text = `import "./b.js"`;')).to.deep.equal([]);
  });

  it("knows an index by having nothing of its own", () => {
    const index = readImports("index.ts", 'export { a as b } from "./a.js"; export * from "./c.js";');
    expect(index).to.deep.include({
      isIndex: true,
      passesOn: [{ specifier: "./a.js", name: "b", original: "a" }],
      passesAllOn: ["./c.js"],
    });
    expect(readImports("a.ts", 'export { a } from "./a.js"; export const b = 1;')).to.deep.include({
      isIndex: false,
      declares: ["b"],
    });
  });

  it("finds the files that are named in strings", () => {
    const text = 'fork(new URL("heap.child.ts", import.meta.url)); read(`flags/demo.json`); log("done.");';
    expect(readImports("a.ts", text).namedFiles).to.deep.equal(["heap.child.ts", "flags/demo.json"]);
  });
});
