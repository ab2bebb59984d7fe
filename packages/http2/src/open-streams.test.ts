import { expect } from "chai";
import { OpenStreams } from "./open-streams.js";

describe("OpenStreams", () => {
  it("finds each stream until it is deleted, whether there were ever two at a time or not", () => {
    const open = new OpenStreams<{ readonly id: number }>();
    const [one, three, five] = [{ id: 1 }, { id: 3 }, { id: 5 }];
    const ids = (): number[] => Array.from(open.values(), ({ id }) => id);
    const steps: (readonly [act: () => unknown, left: number[]])[] = [
      [() => open.add(one), [1]],
      [() => expect(open.delete(one)).to.equal(true), []],
      [() => expect(open.delete(one)).to.equal(false), []],
      [() => open.add(three), [3]],
      [() => expect(open.delete(one)).to.equal(false), [3]],
      [() => open.add(five), [3, 5]],
      [() => expect(open.delete(three)).to.equal(true), [5]],
      [() => open.add(one), [5, 1]],
      [() => expect(open.delete(three)).to.equal(false), [5, 1]],
    ];
    for (const [act, left] of steps) {
      act();
      expect(ids()).to.deep.equal(left);
      expect(open.size).to.equal(left.length);
      for (const each of [one, three, five])
        expect(open.get(each.id)).to.equal(left.includes(each.id) ? each : undefined);
    }
  });
});
