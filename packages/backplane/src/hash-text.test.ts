import { expect } from "chai";
import { hashText, shardOf } from "./record/shard-of.js";

describe("hashText", () => {
  it("is the same in every replica and version", () => {
    expect([hashText(""), hashText("demo/flags"), hashText("ä")]).to.deep.equal([
      2_872_998_923, 2_739_367_591, 519_959_299,
    ]);
  });

  it("spreads topics over all shards evenly", () => {
    const counts = new Array<number>(16).fill(0);
    for (let index = 0; index < 16_000; index++) {
      const shard = shardOf(`demo/flag-${index}`, 16);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    for (const count of counts) expect(count).to.be.within(800, 1_200);
  });
});
