import { expect } from "chai";
import { Turns } from "./turns.js";

describe("Turns", () => {
  it("lists the first item of each asker, then the second of each", () => {
    const turns = new Turns<string>();
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2", "a1"]) turns.add(item[0], item);
    expect(turns.size).to.equal(6);
    expect([...turns]).to.deep.equal(["a1", "b1", "c1", "a2", "c2", "a3"]);
    expect(turns.size).to.equal(6);
  });

  it("gives each asker one turn after the other while items are taken out", () => {
    const turns = new Turns<string>();
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) turns.add(item[0], item);
    const taken: string[] = [];
    for (const item of turns) {
      taken.push(item);
      turns.took(item[0]);
      turns.delete(item[0], item);
    }
    expect(taken).to.deep.equal(["a1", "b1", "c1", "a2", "c2", "a3"]);
    expect(turns.size).to.equal(0);
  });

  it("puts an asker whose turn it was behind all others", () => {
    const turns = new Turns<string>();
    for (const item of ["a1", "b1"]) turns.add(item[0], item);
    turns.took("a");
    expect([...turns]).to.deep.equal(["b1", "a1"]);
    turns.delete("b", "b1");
    turns.delete("b", "b1");
    turns.took("b");
    expect([...turns]).to.deep.equal(["a1"]);
  });
});
