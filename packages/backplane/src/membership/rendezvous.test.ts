import { expect } from "chai";
import { hashText } from "../hash-text.js";
import { Rendezvous } from "./rendezvous.js";

const names = Array.from({ length: 9_000 }, (_, index) => `demo/flag-${index}`);
const replicas = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `bunting-proxy-7c9d-${index}/0b1e`);

describe("Rendezvous", () => {
  it("comes to the same result whatever the order of the members", () => {
    const members = replicas(5);
    const [one, other] = [new Rendezvous(members), new Rendezvous([...members, ...members].reverse())];
    for (const name of names.slice(0, 500)) expect(one.ownerOf(name)).to.equal(other.ownerOf(name));
  });

  for (const count of [2, 3, 9]) {
    it(`spreads over ${count} replicas evenly`, () => {
      const rendezvous = new Rendezvous(replicas(count));
      const counts = new Map<string | undefined, number>();
      for (const name of names) {
        const owner = rendezvous.ownerOf(name);
        counts.set(owner, (counts.get(owner) ?? 0) + 1);
      }
      const expected = names.length / count;
      expect(counts.size).to.equal(count);
      for (const owned of counts.values()) expect(owned).to.be.within(0.85 * expected, 1.15 * expected);
    });
  }

  it("moves only what the replica that joins gets, and back when it leaves", () => {
    const members = replicas(4);
    const joined = "bunting-proxy-new";
    const [before, after] = [new Rendezvous(members), new Rendezvous([...members, joined])];
    let moved = 0;
    for (const name of names) {
      const [from, to] = [before.ownerOf(name), after.ownerOf(name)];
      if (from === to) continue;
      expect(to).to.equal(joined);
      moved++;
    }
    expect(moved).to.be.within(names.length / 5 / 1.2, (names.length / 5) * 1.2);
  });

  it("has no owner without members", () => {
    expect(new Rendezvous([]).ownerOf("a")).to.equal(undefined);
  });

  it("comes to the same result also where two members draw level in everything", () => {
    // Of some hundred thousand names, two have the same hash.
    const [one, other] = ["bunting-proxy-45875/0b1e", "bunting-proxy-300600/0b1e"];
    expect(hashText(one)).to.equal(hashText(other));
    for (const name of names.slice(0, 10))
      expect(new Rendezvous([one, other]).ownerOf(name)).to.equal(new Rendezvous([other, one]).ownerOf(name));
  });
});
