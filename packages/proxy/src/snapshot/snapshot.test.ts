import { expect } from "chai";
import fc from "fast-check";
import {
  encodeDocument,
  legacySyncV1,
  normaliseDocument,
  syncV1,
  type FlagDocument,
  type JsonValue,
} from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { encodeSnapshot, prepareSnapshot } from "./encode-snapshot.js";
import { Snapshot } from "./snapshot.js";

function snapshotOf(document: FlagDocument, previous?: Snapshot): Snapshot {
  return new Snapshot({
    topic: "demo/flags",
    sequence: 1,
    version: { noticedMs: 0 },
    publishedMs: 0,
    bytes: encodeSnapshot(document, previous?.bytes),
  });
}

const anyDocument: fc.Arbitrary<FlagDocument> = fc
  .record(
    {
      flags: fc.dictionary(
        fc.string({ unit: "binary", minLength: 1 }),
        fc.record({ state: fc.constant("ENABLED"), variants: fc.dictionary(fc.string(), fc.jsonValue()) }),
      ),
      metadata: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean(), fc.integer())),
      $evaluators: fc.dictionary(fc.string(), fc.jsonValue()),
    },
    { requiredKeys: ["flags"] },
  )
  .map((value) => normaliseDocument(value as JsonValue).document);

const small: FlagDocument = {
  flags: { a: { state: "ENABLED" }, b: { state: "DISABLED" } },
  metadata: { v: 1 },
};

describe("a snapshot", () => {
  it("is the same bytes as ts-proto and frameMessage would make, in every message it is sent as", () => {
    fc.assert(
      fc.property(anyDocument, (document) => {
        const snapshot = snapshotOf(document);
        const flagConfiguration = encodeDocument(document);
        expect(snapshot.text).to.equal(flagConfiguration);
        const sync = syncV1.SyncFlagsResponse.encode({ flagConfiguration, syncContext: {} }).finish();
        expect(snapshot.syncFrame.equals(frameMessage(sync))).to.be.true;
        const legacy = legacySyncV1.SyncFlagsResponse.encode({
          flagConfiguration,
          state: legacySyncV1.SyncState.SYNC_STATE_ALL,
        }).finish();
        expect(snapshot.legacySyncFrame.equals(frameMessage(legacy))).to.be.true;
        const all = syncV1.FetchAllFlagsResponse.encode({ flagConfiguration }).finish();
        expect(snapshot.fetchAllFrame.equals(frameMessage(all))).to.be.true;
      }),
    );
  });

  it("is readable at sizes where the length takes one byte more", () => {
    for (const length of [127, 128, 16_383, 16_384, 2_097_151, 2_097_152]) {
      const overhead = encodeDocument({ flags: { f: { state: "" } } }).length;
      const snapshot = snapshotOf({ flags: { f: { state: "x".repeat(length - overhead) } } });
      expect(snapshot.text).to.have.length(length);
      const decoded = syncV1.SyncFlagsResponse.decode(snapshot.syncFrame.subarray(5));
      expect(decoded.flagConfiguration === snapshot.text).to.be.true;
      expect(decoded.syncContext).to.deep.equal({});
      expect(snapshot.syncFrame.readUInt32BE(1)).to.equal(snapshot.syncFrame.length - 5);
    }
  });

  it("makes its legacy frame and that of FetchAllFlags once", () => {
    const snapshot = snapshotOf(small);
    expect(snapshot.legacySyncFrame).to.equal(snapshot.legacySyncFrame);
    expect(snapshot.fetchAllFrame).to.equal(snapshot.fetchAllFrame);
  });

  it("keeps bytes, sequence and digest at a later version of its object", () => {
    const snapshot = snapshotOf(small);
    const later = snapshot.at({ noticedMs: 7, resourceVersion: "8" });
    expect(later.version.resourceVersion).to.equal("8");
    expect(later.syncFrame).to.equal(snapshot.syncFrame);
    expect(later.sequence).to.equal(snapshot.sequence);
    expect(later.digest).to.equal(snapshot.digest);
  });
});

describe("a snapshot's digest", () => {
  it("is equal exactly for equal documents, in whatever order their keys were written", () => {
    fc.assert(
      fc.property(anyDocument, anyDocument, (a, b) => {
        const shuffled: FlagDocument = { ...a, flags: Object.fromEntries(Object.entries(a.flags).reverse()) };
        expect(snapshotOf(shuffled).digest).to.equal(snapshotOf(a).digest);
        expect(snapshotOf(shuffled).syncFrame.equals(snapshotOf(a).syncFrame)).to.be.true;
        const isEqual = encodeDocument(a) === encodeDocument(b);
        expect(snapshotOf(a).digest === snapshotOf(b).digest).to.equal(isEqual);
      }),
    );
  });

  it("distinguishes what is absent, empty, and elsewhere", () => {
    const documents: FlagDocument[] = [
      { flags: {} },
      { flags: {}, metadata: {} },
      { flags: {}, $evaluators: {} },
      { flags: {}, metadata: {}, $evaluators: {} },
      { flags: { a: { state: "x" } } },
      { flags: { b: { state: "x" } } },
      { flags: {}, metadata: { a: { state: "x" } } },
      { flags: {}, $evaluators: { a: { state: "x" } } },
    ];
    expect(new Set(documents.map((document) => snapshotOf(document).digest)).size).to.equal(documents.length);
  });

  it("is stable, because the agent computes it too (these were computed independently, in Python)", () => {
    expect(snapshotOf({ flags: {} }).digest).to.equal(
      "2dba5dbc339e7316aea2683faf839c1b7b1ee2313db792112588118df066aa35",
    );
    expect(snapshotOf(small).digest).to.equal(
      "04964174be52a25f2c2320e92006b2f29c29e1cb9e9382bc780ed7125897d3cf",
    );
  });

  it("is that of a document that was prepared in turns of the event loop, and so are all bytes and the history", async () => {
    const documents = ["one", "two"].map((state) => ({
      flags: { b: { state }, a: { state: "é" }, "10": {} },
      metadata: { m: state },
    }));
    const encodeAll = (): unknown[] => {
      const [first, second] = documents.map((document) => ({ ...document }));
      const before = encodeSnapshot(first ?? { flags: {} });
      return [before, encodeSnapshot(second ?? { flags: {} }, before)];
    };
    const prepared = await Promise.all(
      documents.map(async (document) => {
        await prepareSnapshot(document);
        return document;
      }),
    );
    const [first = { flags: {} }, second = { flags: {} }] = prepared;
    const before = encodeSnapshot(first);
    expect([before, encodeSnapshot(second, before)]).to.deep.equal(encodeAll());
  });

  it("hashes only what changed: an edit of one flag leaves the others' encoding untouched", () => {
    const before = snapshotOf(small);
    const edited = { ...small, flags: { ...small.flags, b: { state: "ENABLED" } } };
    const after = snapshotOf(edited, before);
    expect(after.bytes.flags.get("a")).to.equal(before.bytes.flags.get("a"));
    expect(after.bytes.flags.get("b")).not.to.deep.equal(before.bytes.flags.get("b"));
    expect(after.digest).to.equal(snapshotOf(edited).digest);
    expect(after.digest).not.to.equal(before.digest);
  });
});
