import type { buntingSyncV1 } from "@bunting/protocol";
import { expect } from "chai";
import fc from "fast-check";
import { decodeSyncResponse, decodeVersion } from "./decode-sync-response.js";
import {
  encodeAck,
  encodeHello,
  encodeNack,
  encodeSubscribe,
  versionOfDigest,
} from "./encode-sync-request.js";
import {
  readRequest as read,
  writeResponse as encode,
  writeVersion as encodeVersion,
} from "./bunting-messages.fixture.js";
import { MalformedMessageError } from "./message-fields.js";

const digest = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const text = fc.string({ unit: "binary", maxLength: 300 });
const content = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const version = fc.record({
  uid: text,
  generation: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  resourceVersion: text,
  digest,
});
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

describe("the hand-written codec of bunting.sync.v1", () => {
  it("encodes requests that the generated code decodes", () => {
    fc.assert(
      fc.property(text, text, optional(version), content, fc.boolean(), (topic, other, held, bytes, flag) => {
        const hello = {
          isProxy: undefined,
          readsFreshness: undefined,
          instance: undefined,
          readsTrials: undefined,
          sources: undefined,
        };
        const names = { agent: topic, providerId: other };
        expect(read(encodeHello(names)).hello).to.deep.equal({ ...names, ...hello });
        const more = {
          ...{ isProxy: true, readsFreshness: true, instance: other, readsTrials: true },
          sources: { namespace: other, text: topic, digest: other },
        };
        expect(read(encodeHello({ ...names, ...more })).hello).to.deep.equal({ ...names, ...more });
        const subscribe = read(encodeSubscribe(topic, held && decodeVersion(encodeVersion(held)))).subscribe;
        expect(subscribe).to.deep.equal({ topic, held, trialDigest: undefined });
        expect(read(encodeSubscribe(topic, undefined, bytes)).subscribe).to.deep.include({
          trialDigest: bytes,
        });
        const rejectedFlags = [
          { key: topic, reason: other },
          { key: other, reason: "" },
        ];
        for (const number of [0, 1, 127, 128, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
          const answered = { topic, number: String(number) };
          expect(read(encodeAck({ topic, number }, bytes, rejectedFlags)).ack).to.deep.equal({
            ...answered,
            digest: bytes,
            rejectedFlags,
          });
          const nack = { currentDigest: bytes, reason: other, isDeltaMismatch: flag };
          expect(read(encodeNack({ topic, number }, nack)).nack).to.deep.equal({
            ...answered,
            heldDigest: bytes,
            reason: other,
            isDeltaMismatch: flag,
          });
        }
      }),
    );
  });

  it("encodes a version that has only a digest, and a nack without a held digest", () => {
    const held = read(encodeSubscribe("demo/flags", versionOfDigest(Buffer.alloc(32, 9)))).subscribe?.held;
    expect(held).to.deep.equal({
      uid: "",
      generation: "0",
      resourceVersion: "",
      digest: Buffer.alloc(32, 9),
    });
    const nack = read(
      encodeNack(
        { topic: "t", number: 1 },
        { currentDigest: undefined, reason: "r", isDeltaMismatch: false },
      ),
    ).nack;
    expect(nack?.heldDigest).to.have.length(0);
  });

  it("reads responses as the generated code writes them", () => {
    const delta = fc.record({
      topic: text,
      fromDigest: content,
      version,
      flags: fc.array(fc.record({ key: text, flag: content }), { maxLength: 5 }),
      metadata: optional(content),
      evaluators: optional(content),
    });
    fc.assert(
      fc.property(delta, content, (message, document) => {
        const { topic } = message;
        const known = decodeVersion(encodeVersion(message.version));
        expect(decodeSyncResponse(encode({ delta: message }))).to.deep.equal({
          ...message,
          kind: "delta",
          version: known,
        });
        expect(
          decodeSyncResponse(encode({ snapshot: { topic, version: message.version, document } })),
        ).to.deep.equal({ kind: "snapshot", topic, version: known, document });
        expect(decodeSyncResponse(encode({ unchanged: { topic, version: message.version } }))).to.deep.equal({
          kind: "unchanged",
          topic,
          version: known,
        });
        expect(known.digest.equals(message.version.digest)).to.equal(true);
      }),
    );
    expect(decodeSyncResponse(encode({ missing: { topic: "t" } }))).to.deep.equal({
      kind: "missing",
      topic: "t",
    });
    expect(decodeSyncResponse(encode({ heartbeat: {} }))).to.deep.equal({ kind: "heartbeat" });
    const sourceFlags = { topics: ["a/b", "c/d"], frame: "f1" };
    expect(decodeSyncResponse(encode({ sourceFlags }))).to.deep.equal({
      kind: "source_flags",
      ...sourceFlags,
    });
    const topicError = { topic: "t", code: 8, message: "full", retryAfterMs: 5_000 };
    expect(decodeSyncResponse(encode({ topicError }))).to.deep.equal({ kind: "topic_error", ...topicError });
  });

  it("takes an unknown deletion policy as keep", () => {
    for (const [policy, expected] of [
      [0, "keep"],
      [1, "keep"],
      [2, "empty"],
      [3, "close"],
      [9, "keep"],
    ] as const) {
      const message = encode({ deleted: { topic: "t", policy: policy as buntingSyncV1.DeletionPolicy } });
      expect(decodeSyncResponse(message)).to.deep.equal({ kind: "deleted", topic: "t", policy: expected });
    }
  });

  it("takes negative numbers as 0", () => {
    const topicError = { topic: "t", code: -1, message: "", retryAfterMs: -5 };
    expect(decodeSyncResponse(encode({ topicError }))).to.include({ code: 0, retryAfterMs: 0 });
  });

  it("does not copy a document, but copies a version, which outlives the message", () => {
    const message = encode({
      snapshot: {
        topic: "t",
        document: Buffer.from("{}"),
        version: { uid: "", generation: "0", resourceVersion: "", digest: Buffer.alloc(32) },
      },
    });
    const response = decodeSyncResponse(message);
    if (response.kind !== "snapshot") throw new Error(response.kind);
    expect(response.document.buffer).to.equal(message.buffer);
    message.fill(1);
    expect(response.version.digest.equals(Buffer.alloc(32))).to.equal(true);
    expect(response.version.encoded.includes(1)).to.equal(false);
  });

  it("ignores unknown messages and fields", () => {
    expect(decodeSyncResponse(Buffer.alloc(0))).to.deep.equal({ kind: "unknown" });
    expect(decodeSyncResponse(Buffer.from([0x7a, 0x01, 0x00]))).to.deep.equal({ kind: "unknown" });
    expect(decodeSyncResponse(Buffer.from([0x08, 0x01]))).to.deep.equal({ kind: "unknown" });
    const laterHello = Buffer.from([0x0a, 0x06, 0x0a, 0x01, 0x61, 0x7a, 0x01, 0x00]);
    expect(read(laterHello).hello?.agent, "a proxy reads what it knows of hello").to.equal("a");
  });

  it("refuses a version without a whole digest", () => {
    for (const length of [0, 31, 33]) {
      const message = encode({
        unchanged: {
          topic: "t",
          version: { uid: "", generation: "0", resourceVersion: "", digest: Buffer.alloc(length) },
        },
      });
      expect(() => decodeSyncResponse(message), `${length}`).to.throw(
        MalformedMessageError,
        `digest of ${length}`,
      );
    }
    expect(() => decodeSyncResponse(encode({ unchanged: { topic: "t", version: undefined } }))).to.throw(
      MalformedMessageError,
    );
  });

  it("either reads or refuses any bytes", () => {
    const field = fc
      .tuple(fc.integer({ min: 1, max: 10 }), fc.uint8Array({ maxLength: 60 }))
      .map(([number, bytes]) => Buffer.from([number * 8 + 2, bytes.length, ...bytes]));
    fc.assert(
      fc.property(
        fc.oneof(
          field,
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
        ),
        (bytes) => {
          try {
            expect(decodeSyncResponse(bytes).kind).to.be.a("string");
          } catch (error) {
            expect(error).to.be.instanceOf(MalformedMessageError);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
