import { expect } from "chai";
import { nextTurn } from "@bunting/runtime";
import { countReleased } from "./collect-released.js";

const mebibyte = 1024 * 1024;

describe("countReleased", () => {
  const { gc } = globalThis;
  let collections: number;

  beforeEach(async () => {
    // What other tests have released counts too.
    countReleased(6 * mebibyte);
    await nextTurn();
    await nextTurn();
    collections = 0;
    globalThis.gc = (() => {
      collections++;
    }) as NonNullable<typeof gc>;
  });

  afterEach(() => {
    Reflect.set(globalThis, "gc", gc);
  });

  it("collects after every 6 MiB, in the next turn", async () => {
    for (let piece = 0; piece < 5; piece++) countReleased(mebibyte);
    await nextTurn();
    await nextTurn();
    expect(collections).to.equal(0);
    for (let piece = 0; piece < 3; piece++) countReleased(mebibyte);
    expect(collections).to.equal(0);
    await nextTurn();
    await nextTurn();
    expect(collections).to.equal(1);
  });

  it("collects within a turn that releases twice as much", async () => {
    for (let piece = 0; piece < 25; piece++) countReleased(mebibyte);
    expect(collections).to.equal(2);
    await nextTurn();
    await nextTurn();
    expect(collections).to.equal(2);
  });
});
