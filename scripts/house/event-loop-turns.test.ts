import { expect } from "chai";
import { eventLoopTurns } from "./event-loop-turns.js";
import { productFile } from "./product-file.js";

describe("eventLoopTurns", () => {
  it("counts the files that use setImmediate, by whatever import, and not those that speak of it", () => {
    const { offenders } = eventLoopTurns([
      productFile("a.ts", "f();\nsetImmediate(f);\nsetImmediate(g);"),
      productFile("b.ts", 'import { setImmediate as turn } from "node:timers/promises";'),
      productFile("c.ts", '// No setImmediate here.\nconst text = "setImmediate";'),
    ]);
    expect(offenders).to.deep.equal([
      { file: "a.ts", line: 2, text: "2 times" },
      { file: "b.ts", line: 1, text: "1 times" },
    ]);
  });

  it("leaves out the folder of scheduling and the HTTP/2 engine", () => {
    const files = ["runtime/src/scheduling/turns.ts", "rpc/src/http2/stream.ts", "http2/src/stream.ts"];
    const { now } = eventLoopTurns(files.map((file) => productFile(`packages/${file}`, "setImmediate(f);")));
    expect(now).to.equal(0);
  });
});
