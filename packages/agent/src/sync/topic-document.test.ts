import {
  decodeVersion,
  TopicReplica,
  type Delta,
  type DocumentVersion,
  type VersionMessage,
} from "@bunting/sync-client/messages";
import { createHash, hash } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  buntingSyncV1,
  canonicalJson,
  compareUtf8,
  encodeDocument,
  normaliseDocument,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import { createLogger } from "@bunting/runtime";
import { expect } from "chai";
import fc from "fast-check";
import { FlagStore } from "../store/flag-store.js";
import { HeapBudget } from "../store/heap-budget.js";
import { noStoreMetrics } from "../store/store-metrics.fixture.js";
import {
  readRequest,
  writeVersion,
  type Request,
} from "@bunting/sync-client/internal/bunting-messages.fixture.js";
import { TopicDocument, type NamedDocument } from "./topic-document.js";

const topic = "demo/flags";

/** Computed in Python; see DocumentDigest. */
const digestVectors = JSON.parse(
  readFileSync(new URL("../../../../test/fixtures/document-digests.json", import.meta.url), "utf8"),
) as readonly { readonly what: string; readonly document: FlagDocument; readonly digest: string }[];

/** docs/bunting-sync-v1.md, written down once more and as plainly as possible. */
function digestOf(document: FlagDocument): Buffer {
  const sha256 = (value: JsonValue | undefined): Buffer =>
    createHash("sha256")
      .update(value === undefined ? "" : canonicalJson(value))
      .digest();
  const parts: Buffer[] = [];
  const keys = Object.keys(document.flags).map((key) => Buffer.from(key));
  for (const key of keys.sort((a, b) => Buffer.compare(a, b))) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(key.length);
    parts.push(length, key, sha256(document.flags[key.toString()]));
  }
  parts.push(sha256(document.metadata), sha256(document.$evaluators));
  return createHash("sha256").update(Buffer.concat(parts)).digest();
}

function versionOf(document: FlagDocument, resourceVersion = ""): DocumentVersion {
  return decodeVersion(writeVersion({ resourceVersion, digest: digestOf(document) }));
}

function deltaOf(from: FlagDocument, to: FlagDocument): Delta {
  const keys = [...new Set([...Object.keys(from.flags), ...Object.keys(to.flags)])].sort(compareUtf8);
  const textOf = (value: JsonValue | undefined): string => (value === undefined ? "" : canonicalJson(value));
  const own = (flags: JsonObject, key: string): JsonValue | undefined =>
    Object.hasOwn(flags, key) ? flags[key] : undefined;
  const change = (part: "metadata" | "$evaluators"): Buffer | undefined =>
    textOf(from[part]) === textOf(to[part]) ? undefined : Buffer.from(textOf(to[part]));
  return {
    kind: "delta",
    topic,
    fromDigest: digestOf(from),
    version: versionOf(to),
    flags: keys
      .filter((key) => textOf(own(from.flags, key)) !== textOf(own(to.flags, key)))
      .map((key) => ({ key, flag: Buffer.from(textOf(own(to.flags, key))) })),
    metadata: change("metadata"),
    evaluators: change("$evaluators"),
  };
}

/** A topic's document over a real store. */
class Held {
  readonly store: FlagStore;
  readonly document: TopicDocument;
  readonly #replica: TopicReplica<NamedDocument>;
  /** Messages taken so far, the number of the last one. */
  taken = 0;

  constructor(heapLimitBytes = 64 * 1024 * 1024) {
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const budget = new HeapBudget(heapLimitBytes);
    this.store = new FlagStore({
      sources: [{ uri: "proxy" }],
      budget,
      context: { logger, metrics: noStoreMetrics },
    });
    this.document = new TopicDocument(0, {
      currentDocument: (index) => this.store.currentDocument(index),
      confirm: (index, version) => this.store.confirm(index, version),
      deliver: ({ sourceIndex, bytes, version }) => {
        try {
          return this.store.replace(sourceIndex, bytes, version);
        } catch (error) {
          return { refusal: (error as Error).message };
        }
      },
    });
    this.#replica = new TopicReplica(topic, this.document);
  }

  get text(): string | undefined {
    return this.store.currentDocument(0)?.layout.bytes.toString();
  }

  get version(): DocumentVersion | undefined {
    return this.document.current?.version;
  }

  take(message: VersionMessage): Request {
    return readRequest(this.#replica.take(message, ++this.taken).answer);
  }

  snapshot(document: FlagDocument): Request {
    const bytes = Buffer.from(encodeDocument(document));
    return this.take({ kind: "snapshot", topic, version: versionOf(document), document: bytes });
  }
}

const key = fc.oneof(
  fc.constantFrom("10", "9", "__proto__", "constructor", "\u{1f6a9}", "\uffee", "é", '"', "\\", "\n", "a\0"),
  fc.string({ unit: "binary", minLength: 1, maxLength: 4 }),
);
const flag = fc.record({
  state: fc.constantFrom("ENABLED", "DISABLED"),
  variants: fc.dictionary(fc.string({ unit: "binary", maxLength: 3 }), fc.integer()),
});
const anyDocument: fc.Arbitrary<FlagDocument> = fc
  .record(
    {
      flags: fc
        .array(fc.tuple(key, flag), { maxLength: 12 })
        .map((entries) => Object.fromEntries(entries) as JsonObject),
      metadata: fc.dictionary(key, fc.oneof(fc.string(), fc.boolean(), fc.integer())),
      $evaluators: fc.dictionary(key, fc.jsonValue({ maxDepth: 2 })),
    },
    { requiredKeys: ["flags"] },
  )
  .map((value) => normaliseDocument(value as JsonValue).document);

const one: FlagDocument = {
  flags: { a: { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } },
};
const two: FlagDocument = { flags: { ...one.flags, b: { state: "DISABLED", variants: {} } } };

describe("TopicDocument", () => {
  it("holds the same bytes as the proxy after any deltas, and their digest", () => {
    fc.assert(
      fc.property(fc.array(anyDocument, { minLength: 2, maxLength: 6 }), (versions) => {
        const held = new Held();
        const [first, ...later] = versions;
        held.snapshot(first ?? one);
        let from = first ?? one;
        for (const to of later) {
          const { ack } = held.take(deltaOf(from, to));
          expect(ack?.digest.equals(digestOf(to))).to.equal(true);
          expect(held.text).to.equal(encodeDocument(to));
          expect(held.version?.digest.equals(digestOf(to))).to.equal(true);
          from = to;
        }
      }),
      { numRuns: 300 },
    );
  });

  it("computes the digest of a document that was received without one", () => {
    fc.assert(
      fc.property(anyDocument, (document) => {
        const held = new Held();
        held.store.replace(0, Buffer.from(encodeDocument(document)));
        expect(held.version?.digest.equals(digestOf(document))).to.equal(true);
      }),
    );
    expect(new Held().version).to.equal(undefined);
  });

  for (const { what, document, digest } of digestVectors) {
    it(`computes the digest that both ends agreed on: ${what}`, () => {
      const held = new Held();
      held.store.replace(0, Buffer.from(encodeDocument(document)));
      expect(held.version?.digest.toString("hex")).to.equal(digest);
    });
  }

  for (const [what, text] of [
    ["with its flags in a list", '{"flags":[{"key":"a","state":"ENABLED","variants":{}}]}'],
    ["with flags out of order", '{"flags":{"b":{"state":"ENABLED"},"a":{"state":"ENABLED"}}}'],
    ["with a flag twice", '{"flags":{"a":{"state":"DISABLED"},"a":{"state":"ENABLED"}}}'],
  ] as const) {
    it(`reports no version of a document ${what}, and applies no delta to it`, () => {
      const held = new Held();
      held.store.replace(0, Buffer.from(text));
      expect(held.version).to.equal(undefined);
      const { nack } = held.take(deltaOf(one, two));
      expect(nack).to.include({ isDeltaMismatch: true });
      expect(nack?.heldDigest).to.have.length(0);
      expect(held.text).to.equal(text);
    });
  }

  it("rejects a delta that starts from another version, even if the result would have the right digest", () => {
    const held = new Held();
    held.snapshot(one);
    // From `three` it takes the same step.
    const three: FlagDocument = { flags: { ...one.flags }, metadata: { v: 1 } };
    const delta = { ...deltaOf(one, two), fromDigest: digestOf(three) };
    const { nack } = held.take(delta);
    expect(nack).to.deep.equal({
      topic,
      number: "2",
      heldDigest: digestOf(one),
      reason: "the version that the delta starts from is not held",
      isDeltaMismatch: true,
    });
    expect(held.text).to.equal(encodeDocument(one));
  });

  it("rejects a delta whose result does not have the announced digest", () => {
    const held = new Held();
    held.snapshot(one);
    const delta = deltaOf(one, two);
    for (const wrong of [
      { ...delta, flags: [] },
      { ...delta, flags: [...delta.flags, ...delta.flags] },
      { ...delta, metadata: Buffer.from("{}") },
      { ...delta, evaluators: Buffer.from('{"a":1}') },
      { ...delta, version: versionOf(one) },
    ]) {
      const { nack } = held.take(wrong);
      expect(nack).to.include({ isDeltaMismatch: true });
      expect(nack?.heldDigest.equals(digestOf(one))).to.equal(true);
      expect(held.text).to.equal(encodeDocument(one));
      expect(held.store.flag("", "b")).to.equal(undefined);
    }
    expect(held.take(delta).ack?.digest.equals(digestOf(two))).to.equal(true);
  });

  it("refuses with a reason what the store refuses, and holds the previous document", () => {
    const held = new Held();
    held.snapshot(one);
    const bytes = Buffer.from('{"flags":{"a":tru}}');
    const snapshot = held.take({ kind: "snapshot", topic, version: versionOf(two), document: bytes });
    expect(snapshot.nack).to.include({ isDeltaMismatch: false });
    expect(snapshot.nack?.reason).to.contain("this is not a flag document");
    expect(snapshot.nack?.heldDigest.equals(digestOf(one))).to.equal(true);
    // A delta that leads to its digest, which is that of something the store can't take.
    const flag = Buffer.from("tru");
    const hashes = createHash("sha256").update(Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from("a")]));
    const empty = hash("sha256", "", "buffer");
    const digest = hashes
      .update(hash("sha256", flag, "buffer"))
      .update(empty)
      .update(empty)
      .digest();
    const delta = held.take({
      ...deltaOf(one, two),
      flags: [{ key: "a", flag }],
      version: { digest, encoded: Buffer.alloc(0) },
    });
    expect(delta.nack).to.include({ isDeltaMismatch: false });
    expect(delta.nack?.reason).to.contain("this is not a flag document");
    expect(held.text).to.equal(encodeDocument(one));
    expect(held.take(deltaOf(one, two)).ack?.digest.equals(digestOf(two))).to.equal(true);
  });

  it("cuts a reason to what the protocol allows, at the end of a character", () => {
    const held = new Held();
    const rejected = "ü".repeat(600);
    const flags: Record<string, JsonObject> = {};
    for (let i = 0; i < 150; i++)
      flags[`${rejected}${1000 + i}`] = { state: "ENABLED", variants: {}, defaultVariant: "x" };
    const { ack } = held.snapshot({ flags });
    expect(ack?.rejectedFlags).to.have.length(100);
    const proxyLimitBytes = 128 * 1024;
    const encoded = buntingSyncV1.SyncRequest.encode({
      message: ack && { $case: "ack", value: { ...ack, topic: "t".repeat(1_024) } },
    }).finish();
    expect(encoded.length, "an ack of the longest keys and reasons").to.be.lessThan(proxyLimitBytes);
    for (const { key: named, reason } of ack?.rejectedFlags ?? []) {
      expect(named).to.equal("ü".repeat(512));
      expect(Buffer.byteLength(reason)).to.be.within(254, 256);
      expect(reason).to.not.contain("\ufffd");
    }
  });

  it("lists rejected flags in the ack of each version that has them, also of an unchanged one", () => {
    const held = new Held();
    const broken: FlagDocument = {
      flags: { ...one.flags, bad: { state: "ENABLED", variants: {}, defaultVariant: "x" } },
    };
    const named = (request: Request): string[] | undefined =>
      request.ack?.rejectedFlags.map((rejection) => rejection.key);
    expect(named(held.snapshot(broken))).to.deep.equal(["bad"]);
    const more: FlagDocument = { flags: { ...broken.flags, c: { state: "ENABLED", variants: {} } } };
    expect(named(held.take(deltaOf(broken, more)))).to.deep.equal(["bad"]);
    expect(named(held.take({ kind: "unchanged", topic, version: versionOf(more) }))).to.deep.equal(["bad"]);
    expect(named(held.take(deltaOf(more, one)))).to.deep.equal([]);
  });

  it("accepts the newer version of an unchanged document, and nothing else", () => {
    const held = new Held();
    held.snapshot(one);
    const newer = versionOf(one, "8");
    expect(held.take({ kind: "unchanged", topic, version: newer }).ack?.digest.equals(newer.digest)).to.equal(
      true,
    );
    expect(held.version).to.deep.equal(newer);
    const { nack } = held.take({ kind: "unchanged", topic, version: versionOf(two, "9") });
    expect(nack).to.include({ isDeltaMismatch: true });
    expect(held.version).to.deep.equal(newer);
    expect(new Held().take({ kind: "unchanged", topic, version: newer }).nack).to.include({
      isDeltaMismatch: true,
    });
  });

  it("serves no flags after `empty`, and follows later messages", () => {
    const held = new Held();
    held.snapshot(one);
    held.document.empty();
    expect(held.text).to.equal('{"flags":{}}');
    expect(held.store.flags()).to.deep.equal([]);
    expect(held.take(deltaOf(one, two)).nack).to.include({ isDeltaMismatch: true });
    expect(held.take(deltaOf({ flags: {} }, two)).ack?.digest.equals(digestOf(two))).to.equal(true);
  });
});
