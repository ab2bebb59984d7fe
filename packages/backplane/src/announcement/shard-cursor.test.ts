import { expect } from "chai";
import { ShardCursor } from "./shard-cursor.js";

describe("ShardCursor", () => {
  it("notices when an announcement is left out, and goes on from there", () => {
    const cursor = new ShardCursor({ id: "5-0", number: 5 });
    expect(cursor.advance({ id: "5-1", number: 6 })).to.equal(true);
    expect(cursor.advance({ id: "9-0", number: 8 })).to.equal(false);
    expect(cursor.advance({ id: "10-0", number: 9 })).to.equal(true);
    expect(cursor.advance({ id: "11-0", number: Number.NaN })).to.equal(false);
    expect(cursor.id).to.equal("11-0");
  });

  it("is behind the end of the stream, or at it, as long as Redis keeps what it had", () => {
    const cursor = new ShardCursor({ id: "9-2", number: 5 });
    expect(cursor.meet({ id: "9-2", number: 5 })).to.equal(true);
    expect(cursor.meet({ id: "10-0", number: 6 })).to.equal(true);
    expect(cursor.id).to.equal("9-2");
  });

  for (const [what, tail] of [
    ["emptied", { id: "0-0", number: 0 }],
    ["that of a Redis that lags", { id: "9-1", number: 4 }],
    ["begun anew", { id: "100-0", number: 3 }],
    ["begun anew with a clock that was set back", { id: "8-0", number: 700 }],
  ] as const) {
    it(`is past the end of a stream that was ${what}, and goes on from that`, () => {
      const cursor = new ShardCursor({ id: "9-2", number: 5 });
      expect(cursor.meet(tail)).to.equal(false);
      expect(cursor.id).to.equal(tail.id);
      expect(cursor.meet(tail)).to.equal(true);
    });
  }
});
