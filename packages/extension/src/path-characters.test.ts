import { expect } from "chai";
import { pathCharacters } from "./path-characters.js";

describe("pathCharacters", () => {
  it("adds up the paths to what is inside, in objects and lists", () => {
    expect(pathCharacters(1, 100)).to.equal(0);
    expect(pathCharacters({ ab: 1, c: [true, null] }, 100)).to.equal("/ab".length + "/c/0/c/1/c".length);
  });

  it("ends soon after the bound", () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`a${at}`, at]));
    expect(pathCharacters({ ["x".repeat(1_000)]: many }, 10_000)).to.be.within(10_000, 12_100);
  });
});
