import { expect } from "chai";
import { FileTimes, slowestFiles } from "./file-times.js";

describe("FileTimes", () => {
  it("names the slowest files first, with the time of their hooks, and none that is fast", () => {
    let nowMs = 500;
    const times = new FileTimes(() => nowMs);
    const end = (file: string, atMs: number): void => {
      nowMs = atMs;
      times.ended(file);
    };
    end("a.test.ts", 8_500);
    end("a.test.ts", 12_500);
    end("b.test.ts", 14_000);
    end("c.test.ts", 64_000);
    expect(slowestFiles(times.seconds())).to.deep.equal(["   50 s c.test.ts", "   12 s a.test.ts"]);
    expect(Object.fromEntries(times.seconds())).to.deep.equal({
      "a.test.ts": 12,
      "b.test.ts": 1.5,
      "c.test.ts": 50,
    });
  });
});
