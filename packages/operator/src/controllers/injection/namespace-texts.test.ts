import { expect } from "chai";
import { textsOf, type TextOrigins } from "./namespace-texts.js";

describe("textsOf", () => {
  it("puts the namespace's own before what is shared with it, and that before what was seen, each once and in order", () => {
    const origins: TextOrigins = {
      own: ["b", "a"],
      shared: ["team/z", "team/y"],
      seen: ["b,a", "a", "a,b", "team/y"],
    };
    const none = { own: [], shared: [], seen: [] };
    const texts = ["a", "b", "team/y", "team/z", "a,b", "b,a"];
    expect(textsOf(origins, none)).to.deep.equal({ sources: texts, inProcess: [] });
    expect(textsOf(none, origins)).to.deep.equal({ sources: [], inProcess: texts });
  });
});
