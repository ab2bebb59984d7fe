import { expect } from "chai";
import { shardOf } from "./shard-of.js";

describe("shardOf", () => {
  it("spreads topics over all shards evenly, and names the same one each time", () => {
    const counts = new Array<number>(16).fill(0);
    for (let index = 0; index < 16_000; index++) {
      const shard = shardOf(`demo/flag-${index}`, 16);
      expect(shardOf(`demo/flag-${index}`, 16)).to.equal(shard);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    for (const count of counts) expect(count).to.be.within(800, 1_200);
  });
});
