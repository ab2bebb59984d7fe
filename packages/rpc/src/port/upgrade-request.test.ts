import { expect } from "chai";
import { parseUpgradeRequest } from "./upgrade-request.js";

function head(...more: readonly string[]): Buffer {
  const upgrade = [
    "connection: Upgrade, HTTP2-Settings",
    "upgrade: h2c",
    "http2-settings: AAMAAABkAAQCAAAAAAIAAAAA",
  ];
  return Buffer.from(["GET /a HTTP/1.1", "host: b", ...upgrade, ...more, "", ""].join("\r\n"), "latin1");
}

describe("parseUpgradeRequest", () => {
  it("cuts white space off of values, and keeps it within", () => {
    const request = parseUpgradeRequest(head("x-one: \t a  b \t", "x-two:", "x-three:c"));
    expect(request?.headers.slice(4)).to.deep.equal([
      ["x-one", "a  b"],
      ["x-two", ""],
      ["x-three", "c"],
    ]);
  });

  it("leaves requests with odd headers to HTTP/1.1", () => {
    for (const odd of ["no colon", "sp ace: a", ": a", "x: a\tb", "x: a\u0001"])
      expect(parseUpgradeRequest(head(odd)), odd).to.equal(undefined);
  });

  // An expression for the white space around a value took minutes for it: the test would not end.
  it("reads 7,000 spaces in a time that grows with their number", () => {
    expect(parseUpgradeRequest(head(`x: ${" ".repeat(7_000)}\u0001`))).to.equal(undefined);
    expect(parseUpgradeRequest(head(`x: a${" ".repeat(7_000)}b`))?.headers.at(-1)?.[1]).to.have.length(7_002);
  });
});
