import { expect } from "chai";
import { IncomingWindow } from "./incoming-window.js";

describe("the window of what a peer may send", () => {
  it("takes 65,535 bytes, and not one more", () => {
    const window = new IncomingWindow();
    expect([window.take(65_000), window.take(535), window.take(0), window.take(1)]).to.deep.equal([
      true,
      true,
      true,
      false,
    ]);
  });

  it("opens by all that was handled once that is half of it", () => {
    const window = new IncomingWindow();
    expect(window.take(65_535)).to.equal(true);
    expect([window.credit(32_766), window.credit(1), window.credit(32_768)]).to.deep.equal([
      0, 32_767, 32_768,
    ]);
    expect([window.take(65_535), window.take(1)]).to.deep.equal([true, false]);
  });

  it("takes nothing on credit that the peer was not told of", () => {
    const window = new IncomingWindow();
    expect(window.take(65_535)).to.equal(true);
    expect(window.credit(32_766)).to.equal(0);
    expect(window.take(1)).to.equal(false);
  });
});
