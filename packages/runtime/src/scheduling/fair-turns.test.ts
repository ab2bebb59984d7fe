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

  it("runs as many tasks at a time as it has places, and of a key one", async () => {
    const turns = new FairTurns(2);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const all = ["a1", "a2", "b1", "c1", "b2"].map((name) =>
      turns.run(name.slice(0, 1), () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      }),
    );
    const end = async (name: string): Promise<string> => {
      ends.get(name)?.();
      await new Promise(setImmediate);
      return begun.join(" ");
    };
    expect(begun.join(" "), "one of a, though there are two places").to.equal("a1 b1");
    expect(await end("b1")).to.equal("a1 b1 c1");
    expect(await end("c1")).to.equal("a1 b1 c1 b2");
    expect(await end("b2"), "nobody but a waits").to.equal("a1 b1 c1 b2");
    expect(await end("a1")).to.equal("a1 b1 c1 b2 a2");
    await end("a2");
    await Promise.all(all);
    await turns.run("a", () => Promise.resolve());
  });
});
