import { expect } from "chai";
import { forEachInSlices, runInSlices } from "./slices.js";

/** Keeps the process busy for longer than a slice. */
function work(): void {
  const untilMs = performance.now() + 20;
  while (performance.now() < untilMs);
}

describe("runInSlices", () => {
  it("lets everything else have its turn between steps that take long, and resolves with the result", async () => {
    const seen: string[] = [];
    function* steps(): Generator<void, string> {
      for (const step of ["one", "two", "three"]) {
        seen.push(step);
        setImmediate(() => seen.push(`after ${step}`));
        work();
        yield;
      }
      return "done";
    }
    expect(await runInSlices(steps())).to.equal("done");
    expect(seen).to.deep.equal(["one", "after one", "two", "after two", "three", "after three"]);
  });

  it("rejects with what a step throws", async () => {
    function* steps(): Generator<void, void> {
      yield;
      throw new Error("it can't go on");
    }
    const failure = await runInSlices(steps()).catch((error: unknown) => error);
    expect(String(failure)).to.equal("Error: it can't go on");
  });
});

describe("forEachInSlices", () => {
  it("visits the first slice at once, and lets everything else run between slices", async () => {
    const seen: (number | string)[] = [];
    const visited = forEachInSlices([1, 2, 3, 4, 5], (item) => void seen.push(item), { perSlice: 2 });
    expect(seen).to.deep.equal([1, 2]);
    setImmediate(() => seen.push("others"));
    await visited;
    expect(seen).to.deep.equal([1, 2, 3, 4, "others", 5]);
  });

  it("visits what was added meanwhile, and not what was deleted", async () => {
    const items = new Set(["a", "b", "c"]);
    const seen: string[] = [];
    const visited = forEachInSlices(items, (item) => void seen.push(item), { perSlice: 1 });
    items.delete("b");
    items.add("d");
    await visited;
    expect(seen).to.deep.equal(["a", "c", "d"]);
  });

  it("keeps no more promises pending than it may, and waits for the last", async () => {
    let pending = 0;
    let most = 0;
    let ended = 0;
    await forEachInSlices(
      Array.from({ length: 10 }),
      async () => {
        most = Math.max(most, ++pending);
        await Promise.resolve();
        pending--;
        ended++;
      },
      { concurrency: 4 },
    );
    expect([most, ended]).to.deep.equal([4, 10]);
  });

  it("rejects with the first error, and visits nothing further", async () => {
    const seen: number[] = [];
    const visited = forEachInSlices([1, 2, 3], (item) => {
      seen.push(item);
      if (item === 2) throw new Error("no");
    });
    const failure = await visited.catch((error: unknown) => error);
    expect([String(failure), seen]).to.deep.equal(["Error: no", [1, 2]]);
  });
});
