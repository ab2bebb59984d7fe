import { expect } from "chai";
import { textsOf, type TextOrigins } from "./namespace-texts.js";

describe("textsOf", () => {
  it("puts the namespace's own before what was seen, and that before what is only shared with it, each once and in order", () => {
    const origins: TextOrigins = {
      own: ["b", "a"],
      shared: ["team/z", "team/y"],
      seen: ["b,a", "a", "a,b", "team/y"],
    };
    const none = { own: [], shared: [], seen: [] };
    const texts = ["a", "b", "a,b", "b,a", "team/y", "team/z"];
    const [offered, nothing] = [new Set(["team/z"]), new Set()];
    expect(textsOf(origins, none)).to.deep.equal({
      sources: texts,
      inProcess: [],
      offered: { sources: offered, inProcess: nothing },
    });
    expect(textsOf(none, origins)).to.deep.equal({
      sources: [],
      inProcess: texts,
      offered: { sources: nothing, inProcess: offered },
    });
  });
});
