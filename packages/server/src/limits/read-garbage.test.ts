import { expect } from "chai";
import { countRead } from "./read-garbage.js";

describe("countRead", () => {
  const { gc } = globalThis;
  let collected: unknown[];

  beforeEach(() => {
    collected = [];
    globalThis.gc = ((options: unknown) => void collected.push(options)) as NonNullable<typeof gc>;
    // What other tests have read counts too.
    countRead(4 * 1024 * 1024);
    collected = [];
  });

  afterEach(() => {
    Reflect.set(globalThis, "gc", gc);
  });

  it("collects young garbage after every 4 MiB", () => {
    for (let chunk = 0; chunk < 63; chunk++) countRead(65_536);
    expect(collected).to.deep.equal([]);
    for (let chunk = 0; chunk < 64; chunk++) countRead(65_536);
    expect(collected).to.deep.equal([{ type: "minor" }]);
    countRead(65_536);
    expect(collected).to.have.length(2);
  });
});
