import { expect } from "chai";
import type { Http2Stream } from "./http2-stream.js";
import { StreamTable } from "./stream-table.js";

describe("the streams of a connection", () => {
  const stream = (id: number): Http2Stream => ({ id }) as unknown as Http2Stream;

  it("are found by their ids while they are open, oldest first", () => {
    const table = new StreamTable();
    const [first, second] = [stream(1), stream(3)];
    table.add(first);
    table.add(second);
    expect([table.get(1), table.get(3), table.get(5)]).to.deep.equal([first, second, undefined]);
    expect([...table.all]).to.deep.equal([first, second]);
    expect([table.delete(first), table.delete(first), table.size]).to.deep.equal([true, false, 1]);
  });

  it("are ignored once we have ended them: the newest 64", () => {
    const table = new StreamTable();
    expect(table.isIgnored(1)).to.equal(false);
    for (let id = 1; id <= 2 * 65 - 1; id += 2) table.ignore(id);
    expect([1, 3, 129, 131].map((id) => table.isIgnored(id))).to.deep.equal([false, true, true, false]);
  });
});
