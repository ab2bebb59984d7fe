import { expect } from "chai";
import { singleLine } from "./single-line.js";

describe("singleLine", () => {
  it("leaves nothing that begins a line, moves a cursor or turns the direction of text", () => {
    const hostile = "\u001b[2Ja\r\nb\u0085c\u2028d\u2029e\rf\u009b8m\u202eg\u2066h\u0000";
    expect(singleLine(hostile)).to.equal("?[2Ja b c d e f?8m?g?h?");
  });

  it("leaves text of any script as it is", () => {
    const text = "nicht lesbar: “Größe” 旗 עברית 👩‍👩‍👧 (a\\b)";
    expect(singleLine(text)).to.equal(text);
  });
});
