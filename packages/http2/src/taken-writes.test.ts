import { nextTurn } from "@bunting/runtime";
import { expect } from "chai";
import { takenWrites } from "./taken-writes.js";

/** Resolves when all ticks are over, before the event loop goes on. */
const ticks = async (): Promise<void> => {
  for (let tick = 0; tick < 100; tick++) await new Promise<void>((resolve) => process.nextTick(resolve));
};

describe("writes that the system took at once", () => {
  const told: string[] = [];
  const write = (name: string, more: number): void =>
    takenWrites.add({
      sent: () => {
        told.push(`${name} ${more}`);
        if (more > 0) write(name, more - 1);
      },
    });

  beforeEach(async () => {
    await nextTurn();
    told.length = 0;
  });

  it("are told of in the next tick, and those that follow them, too, while they are few", async () => {
    write("a", 2);
    write("b", 1);
    expect(told).to.deep.equal([]);
    await ticks();
    expect(told).to.deep.equal(["a 2", "b 1", "a 1", "b 0", "a 0"]);
  });

  it("are told of in the next turn once this one has had many, whoever wrote them", async () => {
    const names = Array.from({ length: 20 }, (_, i) => String(i));
    for (const name of names) write(name, 2);
    for (const more of [2, 1]) {
      await ticks();
      expect(told.splice(0)).to.deep.equal(names.map((name) => `${name} ${more}`));
      if (more === 1) write("late", 0);
      await nextTurn();
    }
    await ticks();
    expect(told.splice(0)).to.deep.equal([...names.map((name) => `${name} 0`), "late 0"]);
  });

  it("are told of in the next turn after sixteen of one writer, and in ticks again from there on", async () => {
    write("a", 40);
    for (const expected of [16, 16, 9]) {
      await ticks();
      expect(told.splice(0)).to.have.length(expected);
      await nextTurn();
    }
    write("b", 0);
    await ticks();
    expect(told).to.deep.equal(["b 0"]);
  });
});
