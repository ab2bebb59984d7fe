import { expect } from "chai";
import { mostUnreadBytes } from "./unread-bytes.js";

const megabyte = 1024 * 1024;

describe("mostUnreadBytes", () => {
  it("is a quarter of the heap's limit, and 32 MiB at least", () => {
    expect(mostUnreadBytes(512 * megabyte)).to.equal(128 * megabyte);
    expect(mostUnreadBytes(35 * megabyte)).to.equal(32 * megabyte);
  });
});
