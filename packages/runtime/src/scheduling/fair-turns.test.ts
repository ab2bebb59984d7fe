import { expect } from "chai";
import { FairTurns } from "./fair-turns.js";

describe("FairTurns", () => {
  it("runs one task at a time, and the keys in turn", async () => {
    const turns = new FairTurns();
    const begun: string[] = [];
    let running = 0;
    const run = (key: string, name: string): Promise<string> =>
      turns.run(key, async () => {
        expect(++running).to.equal(1);
        begun.push(name);
        await Promise.resolve();
        running--;
        return name;
      });
    const all = ["a1", "a2", "a3", "a4", "b1", "c1", "b2"].map((name) => run(name.slice(0, 1), name));
    expect(await Promise.all(all)).to.deep.equal(["a1", "a2", "a3", "a4", "b1", "c1", "b2"]);
    expect(begun).to.deep.equal(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });

  it("goes on after a task that fails", async () => {
    const turns = new FairTurns();
    const failed = turns.run("a", () => Promise.reject(new Error("no"))).catch((error: unknown) => error);
    expect(await turns.run("b", () => Promise.resolve(1))).to.equal(1);
    expect(await failed).to.be.instanceOf(Error);
    expect(await turns.run("b", () => Promise.resolve(2))).to.equal(2);
  });
});
