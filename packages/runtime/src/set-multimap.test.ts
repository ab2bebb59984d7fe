import { expect } from "chai";
import { SetMultimap } from "./set-multimap.js";

describe("SetMultimap", () => {
  it("has each value of a key once, in the order in which they came, apart from those of other keys", () => {
    const map = new SetMultimap<string, number>();
    for (const [key, value] of [
      ["a", 2],
      ["a", 1],
      ["b", 3],
      ["a", 2],
    ] as const)
      map.add(key, value);
    expect([...map.get("a")]).to.deep.equal([2, 1]);
    expect([...map.get("b")]).to.deep.equal([3]);
    expect([...map.get("c")]).to.deep.equal([]);
  });

  it("deletes single values, and says whether they were there", () => {
    const map = new SetMultimap<string, number>();
    map.add("a", 1);
    map.add("a", 2);
    expect(map.delete("b", 1)).to.equal(false);
    expect(map.delete("a", 3)).to.equal(false);
    expect(map.delete("a", 1)).to.equal(true);
    expect([...map.get("a")]).to.deep.equal([2]);
  });

  it("keeps nothing of a key without values", () => {
    const map = new SetMultimap<string, number>();
    map.add("a", 1);
    const before = map.get("a");
    map.delete("a", 1);
    map.add("a", 2);
    expect([...before], "the set of before is not that of now").to.deep.equal([]);
    map.add("b", 3);
    map.delete("b", 3);
    expect([...map.keys()]).to.deep.equal(["a"]);
    expect([...map.get("a")]).to.deep.equal([2]);
  });

  it("takes all values of a key away at once", () => {
    const map = new SetMultimap<string, number>();
    map.add("a", 1);
    map.add("b", 2);
    expect([...map.take("a")]).to.deep.equal([1]);
    expect([...map.take("a")]).to.deep.equal([]);
    expect([...map.get("b")]).to.deep.equal([2]);
  });
});
