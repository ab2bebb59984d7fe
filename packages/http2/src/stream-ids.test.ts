import { expect } from "chai";
import { StreamIds } from "./stream-ids.js";

describe("the ids of a connection's streams", () => {
  it("are ignored once we have ended the streams: the newest 64", () => {
    const ids = new StreamIds();
    expect(ids.isIgnored(1)).to.equal(false);
    for (let id = 1; id <= 2 * 65 - 1; id += 2) ids.ignore(id);
    expect([1, 3, 129, 131].map((id) => ids.isIgnored(id))).to.deep.equal([false, true, true, false]);
  });
});
