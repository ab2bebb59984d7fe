import { expect } from "chai";
import { productFile } from "./product-file.js";
import { v8Parts } from "./v8-parts.js";

describe("v8Parts", () => {
  it("counts the files that collect garbage, set flags or read the heap, by whatever name", () => {
    const { offenders } = v8Parts([
      productFile("a.ts", "f();\nglobalThis.gc?.();"),
      productFile("b.ts", "const { gc } = globalThis;"),
      productFile("c.ts", 'globalThis["gc"]();'),
      productFile("d.ts", 'import { setFlagsFromString as set } from "node:v8";'),
      productFile(
        "e.ts",
        'import v8 from "node:v8";\nv8.getHeapStatistics().heap_size_limit;\nv8.setFlagsFromString("");',
      ),
    ]);
    expect(offenders).to.deep.equal([
      { file: "a.ts", line: 2, text: "gc" },
      { file: "b.ts", line: 1, text: "gc" },
      { file: "c.ts", line: 1, text: "gc" },
      { file: "d.ts", line: 1, text: "setFlagsFromString" },
      { file: "e.ts", line: 2, text: "getHeapStatistics, setFlagsFromString" },
    ]);
  });

  it("leaves out the file of each, and entries that are called gc", () => {
    const heap = productFile("packages/runtime/src/memory/heap.ts", "getHeapStatistics();");
    const control = productFile(
      "packages/runtime/src/memory/v8-control.ts",
      "globalThis.gc(); setFlagsFromString('');",
    );
    const observer = productFile("a.ts", 'observe({ entryTypes: ["gc"] }); // gc()');
    expect(v8Parts([heap, control, observer]).now).to.equal(0);
    const mixed = productFile(heap.file, "getHeapStatistics(); globalThis.gc();");
    expect(v8Parts([mixed]).now).to.equal(1);
  });
});
