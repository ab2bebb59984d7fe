import { expect } from "chai";
import { escapedControls, printableLine } from "./escaped-controls.js";

describe("escapedControls", () => {
  it("leaves our colours and line feeds, and nothing else that a terminal obeys", () => {
    const text = "a\u001b[31mb\u001b[0m\n\u001b[2J\u009b1m\rc\u0007";
    const escaped = "\\u001b[2J\\u009b1m\\u000dc\\u0007";
    expect(escapedControls(text, true)).to.equal(`a\u001b[31mb\u001b[0m\n${escaped}`);
    expect(escapedControls(text, false)).to.equal(`a\\u001b[31mb\\u001b[0m\n${escaped}`);
    expect(escapedControls("a\u202eb\u2066c\u200fd é 旗", true)).to.equal("a\\u202eb\\u2066c\\u200fd é 旗");
  });

  it("leaves the value of JSON as it is", () => {
    const value = { "\u001b[2J\u009b\u007f\u202e\n\t": ["\u0000\u0085", "\u2069\\"] };
    for (const indent of [0, 2]) {
      const text = escapedControls(JSON.stringify(value, null, indent), false);
      expect(JSON.parse(text)).to.deep.equal(value);
      expect(text.replaceAll("\n", "")).not.to.match(/[\u0000-\u001f\u007f-\u009f\u202e\u2069]/);
    }
  });

  it("keeps text within a line and without colours, where it is asked to", () => {
    expect(printableLine("a\nb\u2028c\u001b[31md")).to.equal("a\\u000ab\\u2028c\\u001b[31md");
  });
});
