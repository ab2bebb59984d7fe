import { expect } from "chai";
import { UnfinishedMessages } from "./unfinished-messages.js";

const megabyte = 1024 * 1024;

describe("UnfinishedMessages", () => {
  it("has room for large messages until they are too much together, and again when some of them are whole", () => {
    const messages = new UnfinishedMessages(10 * megabyte);
    expect(messages.change(0, 6 * megabyte)).to.equal(true);
    expect(messages.change(0, 4 * megabyte)).to.equal(true);
    expect(messages.change(4 * megabyte, 5 * megabyte)).to.equal(false);
    expect(messages.change(5 * megabyte, 0)).to.equal(true);
    expect(messages.change(0, 4 * megabyte)).to.equal(true);
  });

  it("has room for messages of a megabyte whatever others do", () => {
    const messages = new UnfinishedMessages(10 * megabyte);
    messages.change(0, 20 * megabyte);
    expect(messages.change(0, megabyte)).to.equal(true);
    expect(messages.change(megabyte, megabyte + 1)).to.equal(false);
  });
});
