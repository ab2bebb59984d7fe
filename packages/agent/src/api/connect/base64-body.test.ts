import { RpcError } from "@bunting/rpc";
import { expect } from "chai";
import fc from "fast-check";
import { decodeBase64, encodeBase64 } from "./base64-body.js";

describe("bodies of gRPC-Web's text form", () => {
  it("are read whatever pieces they were encoded in", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 6 }), (pieces) => {
        const text = Buffer.concat(pieces.map((piece) => encodeBase64(piece)));
        expect(decodeBase64(text)).to.deep.equal(Buffer.concat(pieces));
      }),
    );
  });

  it("need no padding at their end", () => {
    for (const text of ["", "AA", "AAA", "AAAA", "AA==AAA"]) {
      expect(decodeBase64(Buffer.from(text)).length).to.equal(
        ([...text.matchAll(/[A-Z]/g)].length * 0.75) | 0,
      );
    }
  });

  it("are refused at the first character that is none of base64", () => {
    for (const [text, at] of [
      ["A", 1],
      ["AAAAA", 5],
      ["AAA\n", 4],
      ["AAAA AAAA", 5],
      ["AA-_", 3],
      ["AA=A", 3],
      ["A===", 2],
      ["====", 1],
      ["AAAA=", 5],
      ["AA=", 3],
      ["AAé", 3],
    ] as const) {
      expect(() => decodeBase64(Buffer.from(text)), text)
        .to.throw(RpcError, `it is not base64 at character ${at}.`)
        .with.property("code", "INVALID_ARGUMENT");
    }
  });
});
