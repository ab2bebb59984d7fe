import { expect } from "chai";
import { Epochs } from "./epochs.js";

describe("Epochs", () => {
  let opened: number[];
  let epochs: Epochs;
  beforeEach(() => {
    opened = [];
    epochs = new Epochs((epoch) => opened.push(epoch));
  });

  it("continue while reads answer with what was seen before they began, or newer", () => {
    expect(epochs.completeRead(epochs.beginRead(), "10")).to.equal(1);
    epochs.observe(1, "12");
    expect(epochs.completeRead(epochs.beginRead(), "12")).to.equal(1);
    expect(epochs.completeRead(epochs.beginRead(), "100")).to.equal(1);
    expect(opened).to.deep.equal([]);
  });

  it("a new one begins with a read that answers with less than was seen before it began", () => {
    epochs.observe(1, "100");
    expect(epochs.completeRead(epochs.beginRead(), "99")).to.equal(2);
    expect(opened).to.deep.equal([2]);
    expect(epochs.completeRead(epochs.beginRead(), "99")).to.equal(2);
  });

  it("none begins because of what was seen while the read was under way", () => {
    const start = epochs.beginRead();
    epochs.observe(1, "100");
    expect(epochs.completeRead(start, "99")).to.equal(1);
    expect(opened).to.deep.equal([]);
  });

  it("a read during which another epoch began proves nothing", () => {
    epochs.observe(1, "100");
    const [first, second] = [epochs.beginRead(), epochs.beginRead()];
    expect(epochs.completeRead(first, "5")).to.equal(2);
    expect(epochs.completeRead(second, "101")).to.equal(undefined);
    expect(opened).to.deep.equal([2]);
  });

  it("a new one begins, once, when a read finds an object older than it was", () => {
    epochs.observe(1, "100");
    const start = epochs.beginRead();
    epochs.cut(1);
    epochs.cut(1);
    expect(opened).to.deep.equal([2]);
    expect(epochs.completeRead(start, "130")).to.equal(undefined);
    expect(epochs.completeRead(epochs.beginRead(), "90")).to.equal(2);
  });

  it("ignore what streams of an earlier epoch still report", () => {
    epochs.observe(1, "100");
    epochs.completeRead(epochs.beginRead(), "5");
    epochs.observe(1, "200");
    expect(epochs.completeRead(epochs.beginRead(), "6")).to.equal(2);
  });
});
