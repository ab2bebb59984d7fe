import {
  evaluationV1 as v1,
  evaluationV2 as v2,
  schemaV1 as schema,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import { Struct } from "@bunting/protocol/internal/gen/google/protobuf/struct.js";
import { expect } from "chai";
import fc from "fast-check";
import type { AnyFlagAnswer, AnswerReason } from "../answer.js";
import { EncodedObject } from "../encoded-object.js";
import { evaluationV1, evaluationV2, schemaV1 } from "../dialects.js";
import { typedValue, type Accessor, type TypedValue } from "../typed-value.js";
import { encodeAllResponse, responseEncoder } from "./resolve-response.js";
import { encodeStruct } from "./struct-writer.js";

const text = fc.string({ unit: "grapheme", maxLength: 60 });
/** The generated code loses a key called __proto__. */
const withoutProto = (value: JsonObject): boolean => !JSON.stringify(value).includes("__proto__");
const json = fc.jsonValue({ maxDepth: 5, stringUnit: "grapheme" }) as fc.Arbitrary<JsonValue>;
const object = fc.dictionary(text, json, { maxKeys: 8, noNullPrototype: true }).filter(withoutProto);
const metadata = fc
  .dictionary(text, fc.oneof(text, fc.boolean(), fc.double({ noNaN: true })), {
    maxKeys: 5,
    noNullPrototype: true,
  })
  .filter(withoutProto);
const reason = fc.constantFrom<AnswerReason>("STATIC", "DEFAULT", "TARGETING_MATCH", "DISABLED", "ERROR");
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.maxSafeInteger(),
);

const values: Record<Accessor, fc.Arbitrary<TypedValue>> = {
  Boolean: fc.boolean(),
  String: text,
  Float: number,
  Int: number.map((value) => typedValue("Int", value) ?? 0),
  Object: object,
};

/** Minus zero counts as zero: proto3 writers differ in whether they leave it out. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value === undefined ? { unset: true } : { value }));
}

const generated = {
  Boolean: [v2.ResolveBooleanResponse, v1.ResolveBooleanResponse, schema.ResolveBooleanResponse],
  String: [v2.ResolveStringResponse, v1.ResolveStringResponse, schema.ResolveStringResponse],
  Float: [v2.ResolveFloatResponse, v1.ResolveFloatResponse, schema.ResolveFloatResponse],
  Int: [v2.ResolveIntResponse, v1.ResolveIntResponse, schema.ResolveIntResponse],
  Object: [v2.ResolveObjectResponse, v1.ResolveObjectResponse, schema.ResolveObjectResponse],
} as const;
const dialects = [evaluationV2, evaluationV1, schemaV1];

function int64(value: number): string {
  const whole = BigInt(value);
  const [min, max] = [-(2n ** 63n), 2n ** 63n - 1n];
  // As in Go on amd64, and so in flagd.
  return String(whole < min || whole > max ? min : whole);
}

describe("responseEncoder", () => {
  for (const accessor of Object.keys(generated) as Accessor[]) {
    dialects.forEach((dialect, index) => {
      it(`writes Resolve${accessor} of ${dialect.service} as the generated code reads it`, () => {
        const encode = responseEncoder(dialect, accessor);
        const message = generated[accessor][index];
        const optional = dialect.hasPresence;
        fc.assert(
          fc.property(
            optional ? fc.option(values[accessor], { nil: undefined }) : values[accessor],
            reason,
            optional ? fc.option(text, { nil: undefined }) : text,
            metadata,
            (value, why, variant, meta) => {
              const bytes = encode({ value, reason: why, variant, metadata: new EncodedObject(meta) });
              const decoded = message?.decode(bytes);
              const expected = accessor === "Int" && typeof value === "number" ? int64(value) : value;
              expect(normal(decoded?.value)).to.deep.equal(normal(expected));
              expect(decoded?.reason).to.equal(why);
              expect(decoded?.variant).to.equal(variant);
              expect(normal(decoded?.metadata)).to.deep.equal(normal(meta));
            },
          ),
        );
      });
    });
  }

  it("writes the same bytes as the generated code for a plain answer", () => {
    const answer = { value: true, reason: "STATIC", variant: "on", metadata: { a: "b" } } as const;
    const bytes = responseEncoder(
      evaluationV2,
      "Boolean",
    )({ ...answer, metadata: new EncodedObject(answer.metadata) });
    expect(bytes.toString("hex")).to.equal(
      Buffer.from(v2.ResolveBooleanResponse.encode(answer).finish()).toString("hex"),
    );
  });

  it("distinguishes false from unset in v2, and omits what v1 reads as false", () => {
    const none = new EncodedObject({});
    const no = { value: false, reason: "STATIC", variant: "off", metadata: none } as const;
    expect(v2.ResolveBooleanResponse.decode(responseEncoder(evaluationV2, "Boolean")(no)).value).to.equal(
      false,
    );
    const unset = { ...no, value: undefined, variant: undefined };
    const decoded = v2.ResolveBooleanResponse.decode(responseEncoder(evaluationV2, "Boolean")(unset));
    expect(decoded).to.include({ value: undefined, variant: undefined });
    expect(responseEncoder(evaluationV1, "Boolean")(no)[0], "first field is reason").to.equal(0x12);
  });

  it("always writes metadata, even if empty", () => {
    const bytes = responseEncoder(
      evaluationV1,
      "Boolean",
    )({
      value: false,
      reason: "STATIC",
      variant: "",
      metadata: new EncodedObject({}),
    });
    expect(v1.ResolveBooleanResponse.decode(bytes).metadata).to.deep.equal({});
  });
});

describe("encodeAllResponse", () => {
  const flag = fc.constantFrom<Accessor>("Boolean", "String", "Float", "Object").chain((accessor) =>
    fc.record({
      accessor: fc.constant(accessor),
      value: values[accessor],
      key: text.filter((key) => key !== "__proto__"),
      reason,
      variant: text,
      metadata,
    }),
  );

  it("writes what the generated code of v1 and schema.v1 reads", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(flag, { selector: ({ key }) => key, maxLength: 6 }),
        metadata,
        (flags, meta) => {
          const answers = flags.map((one): AnyFlagAnswer => ({
            ...one,
            metadata: new EncodedObject(one.metadata),
          }));
          const all = { flags: answers, metadata: new EncodedObject(meta) };
          const read = v1.ResolveAllResponse.decode(encodeAllResponse(evaluationV1, all));
          const readOld = schema.ResolveAllResponse.decode(encodeAllResponse(schemaV1, all));
          expect(normal(read.metadata)).to.deep.equal(normal(meta));
          for (const decoded of [read, readOld]) {
            expect(Object.keys(decoded.flags)).to.have.members(flags.map(({ key }) => key));
            for (const { key, accessor, value, reason: why, variant } of flags) {
              const one = decoded.flags[key];
              const word = {
                Boolean: "boolValue",
                String: "stringValue",
                Float: "doubleValue",
                Int: "",
                Object: "objectValue",
              };
              expect(one).to.include({ reason: why, variant });
              expect(one?.value?.$case).to.equal(word[accessor]);
              expect(normal(one?.value?.value)).to.deep.equal(normal(value));
            }
          }
          for (const { key, metadata: own } of flags) {
            expect(normal(read.flags[key]?.metadata)).to.deep.equal(normal(own));
          }
          const bare = v1.ResolveAllResponse.decode(encodeAllResponse(schemaV1, all));
          expect(bare.metadata, "schema.v1 has no metadata").to.equal(undefined);
          expect(Object.values(bare.flags).map((one) => one.metadata)).to.deep.equal(
            flags.map(() => undefined),
          );
        },
      ),
    );
  });
});

describe("encodeStruct", () => {
  it("writes the bytes the generated code writes", () => {
    fc.assert(
      fc.property(object, (value: JsonObject) => {
        const expected = Buffer.from(Struct.encode(Struct.wrap(value)).finish()).toString("hex");
        expect(encodeStruct(value).toString("hex")).to.equal(expected);
      }),
    );
  });

  it("writes a message larger than its first buffer, and long and non-ASCII strings", () => {
    const value = {
      long: "x".repeat(100_000),
      naïve: "é".repeat(40),
      emoji: "🎏".repeat(500),
      lone: "\ud800",
    };
    const read = Struct.unwrap(Struct.decode(encodeStruct(value)));
    expect(read).to.deep.equal({ ...value, lone: "\ufffd" });
  });
});
