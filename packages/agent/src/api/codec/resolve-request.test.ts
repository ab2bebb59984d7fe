import { evaluationV1, evaluationV2, schemaV1, type JsonObject, type JsonValue } from "@bunting/protocol";
import { RpcError } from "@bunting/rpc";
import { expect } from "chai";
import fc from "fast-check";
import { maxNesting } from "../nesting.js";
import { decodeResolveAllRequest, decodeResolveRequest } from "./resolve-request.js";
import { encodeStruct } from "./struct-writer.js";
import { WireWriter } from "./wire-writer.js";

/** Without the key that the generated code loses; that key has its own test. */
const context = fc
  .dictionary(
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc.jsonValue({ maxDepth: 5, stringUnit: "grapheme" }) as fc.Arbitrary<JsonValue>,
    { maxKeys: 8, noNullPrototype: true },
  )
  .filter((value) => !JSON.stringify(value).includes("__proto__"));

function refusal(bytes: Uint8Array): RpcError {
  try {
    decodeResolveRequest(bytes);
  } catch (error) {
    expect(error).to.be.instanceOf(RpcError);
    return error as RpcError;
  }
  throw new Error("the request was accepted");
}

describe("decodeResolveRequest", () => {
  it("reads what the generated code of all three protocols writes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.option(context), (flagKey, given) => {
        const message = { flagKey, context: given ?? undefined };
        for (const encoded of [
          evaluationV2.ResolveBooleanRequest.encode(message).finish(),
          evaluationV1.ResolveObjectRequest.encode(message).finish(),
          schemaV1.ResolveIntRequest.encode(message).finish(),
        ]) {
          expect(decodeResolveRequest(encoded)).to.deep.equal({ flagKey, context: given ?? {} });
        }
        const all = evaluationV1.ResolveAllRequest.encode({ context: given ?? undefined }).finish();
        expect(decodeResolveAllRequest(all)).to.deep.equal(given ?? {});
      }),
    );
  });

  it("reads an empty message as no flag and no context", () => {
    expect(decodeResolveRequest(Buffer.alloc(0))).to.deep.equal({ flagKey: "", context: {} });
  });

  it("merges a context that comes in pieces, and lets the last flag key win", () => {
    const encode = (flagKey: string, piece: JsonObject): Uint8Array =>
      evaluationV2.ResolveBooleanRequest.encode({ flagKey, context: piece }).finish();
    const joined = Buffer.concat([encode("a", { x: 1, y: 1 }), encode("b", { y: 2 })]);
    expect(decodeResolveRequest(joined)).to.deep.equal({ flagKey: "b", context: { x: 1, y: 2 } });
  });

  it("skips unknown fields of every wire type", () => {
    const unknown = Buffer.from(
      "48ffffffffffffffffff01" + // 9: varint of 10 bytes
        "510000000000000000" + // 10: fixed64
        "5a03616263" + // 11: bytes
        "63" +
        "6801" +
        "64" + // 12: group holding 13: varint
        "7500000000", // 14: fixed32
      "hex",
    );
    const known = evaluationV2.ResolveBooleanRequest.encode({ flagKey: "a", context: { b: true } }).finish();
    expect(decodeResolveRequest(Buffer.concat([unknown, known, unknown]))).to.deep.equal({
      flagKey: "a",
      context: { b: true },
    });
  });

  it("keeps a context key called __proto__ as a key", () => {
    const request = new WireWriter();
    request.bytesField(2, encodeStruct(JSON.parse('{"__proto__":{"admin":true},"a":1}') as JsonObject));
    const decoded = decodeResolveRequest(request.finish()).context;
    expect(Object.keys(decoded)).to.have.members(["__proto__", "a"]);
    expect(Object.getPrototypeOf(decoded)).to.equal(Object.prototype);
    expect((decoded as { admin?: boolean }).admin).to.equal(undefined);
  });

  it("reads numbers that JSON can't express as their names, as Go does", () => {
    const encoded = evaluationV2.ResolveBooleanRequest.encode({
      flagKey: "",
      context: { a: Number.NaN, b: Infinity, c: -Infinity },
    }).finish();
    expect(decodeResolveRequest(encoded).context).to.deep.equal({ a: "NaN", b: "Infinity", c: "-Infinity" });
  });

  const nestings: Record<string, (inner: JsonValue) => JsonValue> = {
    objects: (inner) => ({ a: inner }),
    lists: (inner) => [inner],
  };
  for (const [what, around] of Object.entries(nestings)) {
    it(`reads ${maxNesting} nested ${what} and refuses one more`, () => {
      const nested = (depth: number): Uint8Array => {
        let value: JsonValue = "innermost";
        for (let i = 1; i < depth; i++) value = around(value);
        const request = new WireWriter();
        request.bytesField(2, encodeStruct({ outermost: value }));
        return request.finish();
      };
      expect(() => decodeResolveRequest(nested(maxNesting))).not.to.throw();
      expect(refusal(nested(maxNesting + 1)).message).to.include("nested more than");
    });
  }

  it("refuses a hundred thousand levels without overflowing the stack", () => {
    const list = new WireWriter();
    for (let i = 0; i < 100_000; i++) {
      list.message(1, 0); // a Value in a ListValue
      list.message(6, 0); // that ListValue in a Value
    }
    list.message(2, 0);
    list.message(1, 0);
    list.message(2, 0);
    expect(refusal(list.finish()).message).to.include("nested more than");
    expect(refusal(Buffer.alloc(1_000_000, 0x1b)).message).to.include("groups are nested too deeply");
  });

  const hostile: Record<string, string> = {
    "a length beyond the end": "0a05616263",
    "a length of 4 GB": "0affffffff0f61",
    "a varint of eleven bytes": "08ffffffffffffffffffff01",
    "a varint that ends too soon": "08ff",
    "bad UTF-8 in the flag key": "0a02c328",
    "an overlong encoding in the flag key": "0a02c080",
    "a lone surrogate in the flag key": "0a03eda080",
    "a field with the number 0": "0001",
    "the unknown wire type 7": "0f",
    "the end of a group that was not opened": "0c",
    "a group that ends as another": "1b24",
    "an entry longer than its struct": "12030a7f0a",
    "a double cut short": "120b0a090a0161120411000000",
  };
  for (const [what, hex] of Object.entries(hostile)) {
    it(`refuses ${what} with INVALID_ARGUMENT and a message`, () => {
      const error = refusal(Buffer.from(hex, "hex"));
      expect(error.code).to.equal("INVALID_ARGUMENT");
      expect(error.message).to.match(/^The request is not a valid protobuf message: .+\.$/);
    });
  }

  it("reads or refuses any bytes, and a valid request with any damage", () => {
    const readsOrRefuses = (bytes: Uint8Array): void => {
      try {
        decodeResolveRequest(bytes);
      } catch (error) {
        expect(error).to.be.instanceOf(RpcError).with.property("code", "INVALID_ARGUMENT");
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), readsOrRefuses), { numRuns: 500 });
    const damaged = fc
      .tuple(fc.string(), context, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.boolean())
      .map(([flagKey, given, at, byte, cut]) => {
        const bytes = evaluationV2.ResolveBooleanRequest.encode({ flagKey, context: given }).finish();
        if (cut) return bytes.subarray(0, at % (bytes.length + 1));
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        return bytes;
      });
    fc.assert(fc.property(damaged, readsOrRefuses), { numRuns: 500 });
  });
});
