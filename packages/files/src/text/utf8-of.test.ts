import { expect } from "chai";
import { utf8Of } from "./utf8-of.js";

const text = '{"flags":{"é😀":{}}}';
const little = Buffer.from(`\ufeff${text}`, "utf16le");
const big = Buffer.from(little).swap16();

describe("utf8Of", () => {
  it("gives UTF-8 itself, and without its byte order mark", () => {
    const bytes = Buffer.from(text);
    expect(utf8Of(bytes)).to.equal(bytes);
    expect(utf8Of(Buffer.from(`\ufeff${text}`))?.toString()).to.equal(text);
    expect(utf8Of(Buffer.from("\ufeff"))?.length).to.equal(0);
    expect(utf8Of(Buffer.alloc(0))?.length).to.equal(0);
  });

  it("gives UTF-16 of either order as UTF-8", () => {
    for (const bytes of [little, big]) expect(utf8Of(bytes)?.toString()).to.equal(text);
  });

  it("gives nothing for what is neither", () => {
    for (const bytes of [
      Buffer.from(text, "latin1"),
      Buffer.from("\ud800", "utf16le"),
      little.subarray(0, -1),
      Buffer.from([0xff, 0xfe, 0x00, 0xd8]),
      Buffer.from([0xc0, 0x80]),
    ])
      expect(utf8Of(bytes)).to.equal(undefined);
  });
});
