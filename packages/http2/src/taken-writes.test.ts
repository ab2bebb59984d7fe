import { nextTurn } from "@bunting/runtime";
import { expect } from "chai";
import { takenWrites } from "./taken-writes.js";

describe("writes that the system took at once", () => {
  it("are told of in the next tick, and those that follow them in the next turn each", async () => {
    const told: string[] = [];
    const writer = (name: string, more: number): { sent: () => void } => ({
      sent: () => {
        told.push(`${name} ${more}`);
        if (more > 0) takenWrites.add(writer(name, more - 1));
      },
    });
    takenWrites.add(writer("a", 2));
    takenWrites.add(writer("b", 1));
    expect(told).to.deep.equal([]);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(told.splice(0)).to.deep.equal(["a 2", "b 1"]);
    await nextTurn();
    expect(told.splice(0)).to.deep.equal(["a 1", "b 0"]);
    await nextTurn();
    expect(told.splice(0)).to.deep.equal(["a 0"]);
    takenWrites.add(writer("c", 0));
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(told, "without others before it in the turn").to.deep.equal(["c 0"]);
  });
});
