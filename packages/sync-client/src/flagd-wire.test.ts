import { syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import fc from "fast-check";
import { decodeSyncFlagsResponse, encodeSyncFlagsRequest } from "./flagd-wire.js";
import { MalformedMessageError } from "./message-fields.js";

const encode = (message: Partial<syncV1.SyncFlagsResponse>): Buffer =>
  Buffer.from(syncV1.SyncFlagsResponse.encode({ flagConfiguration: "", ...message }).finish());

const field = (number: number, type: number, ...bytes: readonly number[]): Buffer =>
  Buffer.from([number * 8 + type, ...bytes]);

describe("messages of flagd.sync.v1 by hand", () => {
  it("writes requests as the generated code reads them", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.string(), (selector, providerId) => {
        const bytes = encodeSyncFlagsRequest({ providerId, selector });
        expect(syncV1.SyncFlagsRequest.decode(bytes)).to.deep.equal({ providerId, selector });
      }),
    );
  });

  it("reads responses as the generated code writes them", () => {
    // The generated code, which writes them here, loses a key called __proto__.
    const context = fc.dictionary(
      fc.string().filter((key) => key !== "__proto__"),
      fc.oneof(fc.string(), fc.boolean(), fc.double({ noNaN: true })),
    );
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 20_000 }),
        fc.option(context, { nil: undefined }),
        (text, syncContext) => {
          const read = decodeSyncFlagsResponse(encode({ flagConfiguration: text, syncContext }));
          expect(read.toString()).to.equal(text);
        },
      ),
    );
  });

  it("does not copy the document", () => {
    const message = encode({ flagConfiguration: '{"flags":{}}' });
    expect(decodeSyncFlagsResponse(message).buffer).to.equal(message.buffer);
  });

  it("returns a document byte for byte, even if it is no UTF-8", () => {
    const message = Buffer.concat([field(1, 2, 3, 0xff, 0x00, 0xc3)]);
    expect([...decodeSyncFlagsResponse(message)]).to.deep.equal([0xff, 0x00, 0xc3]);
  });

  it("skips fields it does not know, whatever their type", () => {
    const message = Buffer.concat([
      field(3, 0, 0xff, 0xff, 0x03),
      field(4, 1, 1, 2, 3, 4, 5, 6, 7, 8),
      field(5, 5, 1, 2, 3, 4),
      field(6, 2, 2, 0x0a, 0x05),
      // The fields that are known, but of another type.
      field(1, 0, 7),
      field(2, 5, 1, 2, 3, 4),
      encode({ flagConfiguration: "x" }),
      // Field 2^29 - 1, the last there is.
      Buffer.from([0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01]),
    ]);
    expect(decodeSyncFlagsResponse(message)).to.deep.equal(Buffer.from("x"));
  });

  it("takes the last of several documents", () => {
    const message = Buffer.concat([
      encode({ flagConfiguration: "first", syncContext: { a: 1 } }),
      encode({ flagConfiguration: "second", syncContext: { b: 2 } }),
    ]);
    expect(decodeSyncFlagsResponse(message).toString()).to.equal("second");
  });

  it("reads an empty message as an empty document", () => {
    expect(decodeSyncFlagsResponse(Buffer.alloc(0))).to.deep.equal(Buffer.alloc(0));
  });

  it("refuses every message that is cut off within a field", () => {
    const whole = encode({ flagConfiguration: "x".repeat(200), syncContext: { key: "value" } });
    const document = encode({ flagConfiguration: "x".repeat(200) });
    for (let length = 1; length < whole.length; length++) {
      if (length === document.length) continue;
      expect(() => decodeSyncFlagsResponse(whole.subarray(0, length)), `${length}`).to.throw(
        MalformedMessageError,
      );
    }
  });

  const malformed: readonly (readonly [string, Buffer])[] = [
    ["a group", field(3, 3)],
    ["the wire types that do not exist", field(3, 7, 0)],
    ["field number 0", field(0, 2, 0)],
    ["a length that does not end", field(1, 2, ...new Array<number>(11).fill(0x80))],
    ["a length beyond 2^63", field(1, 2, ...new Array<number>(9).fill(0xff), 0x7f)],
  ];
  for (const [what, message] of malformed) {
    it(`refuses ${what}`, () => {
      expect(() => decodeSyncFlagsResponse(message)).to.throw(MalformedMessageError);
    });
  }

  it("either reads or refuses any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          expect(decodeSyncFlagsResponse(Buffer.from(bytes))).to.be.instanceOf(Buffer);
        } catch (error) {
          expect(error).to.be.instanceOf(MalformedMessageError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
