import { expect } from "chai";
import { FairQueue } from "./fair-queue.js";

describe("FairQueue", () => {
  it("lists the first item of each key, then the second of each", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2", "a1"]) queue.add(item[0], item);
    expect(queue.size).to.equal(6);
    expect([...queue]).to.deep.equal(["a1", "b1", "c1", "a2", "c2", "a3"]);
    expect(queue.size).to.equal(6);
  });

  it("gives each key one turn after the other while items are taken out", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.add(item[0], item);
    const taken: string[] = [];
    for (const item of queue) {
      taken.push(item);
      queue.moveToBack(item[0]);
      queue.delete(item[0], item);
    }
    expect(taken).to.deep.equal(["a1", "b1", "c1", "a2", "c2", "a3"]);
    expect(queue.size).to.equal(0);
  });

  it("moves a key that was served behind all others", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "b1"]) queue.add(item[0], item);
    queue.moveToBack("a");
    expect([...queue]).to.deep.equal(["b1", "a1"]);
    queue.delete("b", "b1");
    queue.delete("b", "b1");
    queue.moveToBack("b");
    expect([...queue]).to.deep.equal(["a1"]);
  });
});
