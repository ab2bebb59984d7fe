import { expect } from "chai";
import { parseFlag, type Flag } from "@bunting/evaluation";
import { changeBetween } from "./change-between.js";

function flag(key: string, value: string, sourceIndex = 0, source = "proxy"): Flag {
  const definition = { state: "ENABLED", variants: { on: value }, defaultVariant: "on" };
  return parseFlag(key, definition, { metadata: {}, evaluators: {}, source, sourceIndex });
}

describe("changeBetween", () => {
  it("names what came, went and changed", () => {
    const [stays, changes, goes] = [flag("stays", "1"), flag("changes", "1"), flag("goes", "1")];
    const changed = flag("changes", "2");
    const comes = flag("comes", "1");
    const change = changeBetween([stays, changes, goes], [stays, changed, comes]);
    expect(change.upserted).to.deep.equal([changed, comes]);
    expect(change.removed).to.deep.equal([goes]);
    expect(change.changes.map(({ key, type }) => `${type} ${key}`)).to.deep.equal([
      "update changes",
      "write comes",
      "delete goes",
    ]);
  });

  it("tells nobody of a flag that is the same at another place, but the evaluator", () => {
    const moved = flag("a", "1", 3);
    expect(changeBetween([flag("a", "1")], [moved])).to.deep.equal({
      changes: [],
      upserted: [moved],
      removed: [],
    });
  });

  it("names a flag that comes from a source of another name: selectors and providers see which one", () => {
    const [before, after] = [flag("a", "1", 1), flag("a", "1", 0, "file")];
    expect(changeBetween([before], [after]).changes).to.deep.equal([
      { key: "a", flagSetId: "", type: "update", before, after },
    ]);
  });
});
