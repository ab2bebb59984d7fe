import type { FlagDocument, JsonObject, PastVersion } from "@bunting/protocol";
import { expect } from "chai";
import fc from "fast-check";
import { encodeSnapshot } from "../../snapshot/encode-snapshot.js";
import { documentOf } from "./backplane.fixture.js";
import { historyAfter } from "../history-after.js";
import { keepHistory, withHistory, withHistoryThrough } from "./known-history.js";
import type { Known } from "./known.js";

const digestOf = (resourceVersion: string): string => encodeSnapshot(documentOf(resourceVersion)).digest;
const past = (resourceVersion: string): PastVersion => ({
  digest: digestOf(resourceVersion),
  flags: ["f"],
  metadata: false,
  evaluators: false,
});
const known = (resourceVersion: string, ...history: readonly string[]): Known => ({
  kind: "document",
  document: documentOf(resourceVersion),
  version: { noticedMs: 0, resourceVersion },
  epoch: 1,
  resourceVersion,
  history: history.map(past),
});
const deleted: Known = { kind: "deleted", version: { noticedMs: 0 }, epoch: 1, resourceVersion: "9" };

const content: fc.Arbitrary<FlagDocument> = fc.record(
  {
    flags: fc
      .dictionary(fc.constantFrom("a", "b", "__proto__", "1"), fc.record({ state: fc.nat(2) }))
      .map((flags): JsonObject => flags),
    metadata: fc.dictionary(fc.constant("m"), fc.nat(2)),
    $evaluators: fc.dictionary(fc.constant("e"), fc.nat(2)),
  },
  { requiredKeys: ["flags"] },
);

describe("historyAfter", () => {
  it("is what a topic would have found", () => {
    const sorted = (history: readonly PastVersion[] = []): unknown =>
      history.map(({ flags, ...rest }) => ({ ...rest, flags: [...flags].sort() }));
    fc.assert(
      fc.property(fc.array(content, { minLength: 2, maxLength: 40, size: "max" }), (documents) => {
        let bytes = encodeSnapshot(documents[0] ?? { flags: {} });
        let history: readonly PastVersion[] | undefined = [];
        documents.slice(1).forEach((document, index) => {
          history = historyAfter({ document: documents[index] ?? { flags: {} }, history }, document);
          const next = encodeSnapshot(document, bytes);
          if (next.digest !== bytes.digest) bytes = next;
          expect(sorted(history)).to.deep.equal(sorted(bytes.history));
        });
      }),
      { numRuns: 50 },
    );
  });

  it("is none of a document with very many flags", () => {
    const flags = Object.fromEntries(Array.from({ length: 5_001 }, (_, index) => [`f${index}`, {}]));
    expect(historyAfter({ document: { flags }, history: [] }, { flags: {} })).to.equal(undefined);
  });
});

describe("withHistory", () => {
  it("takes the history of the subscribers, or goes on from the version before", () => {
    const [before, next] = [known("2", "1"), known("3")];
    expect(withHistory(next, before, [past("0")]).history).to.deep.equal([past("0")]);
    expect(withHistory(next, before, undefined).history).to.deep.equal([past("1"), past("2")]);
    expect(withHistory(deleted, before, undefined)).to.equal(deleted);
  });
});

describe("keepHistory", () => {
  it("is that of the same document, and of no other", () => {
    const before = known("2", "1");
    const moved = { ...known("3"), document: documentOf("2") } as Known;
    expect(keepHistory({ ...before, epoch: 2, history: undefined }, before).history).to.deep.equal([
      past("1"),
    ]);
    expect(keepHistory(moved, before)).to.equal(moved);
    expect(keepHistory(deleted, { ...deleted })).to.equal(deleted);
  });
});

describe("withHistoryThrough", () => {
  const historyThrough = (stored: Known, newest: Known | undefined): unknown =>
    withHistoryThrough(stored, newest)?.history;

  it("is that of the stored version, and the step from there to the newest", () => {
    expect(historyThrough(known("2", "1"), known("4"))).to.deep.equal([past("1"), past("2")]);
    expect(historyThrough(known("2", "1"), known("4", "3"))).to.deep.equal(
      undefined,
      "the own one is as long",
    );
    expect(historyThrough(known("2", "0", "1"), known("4", "3"))).to.deep.equal(
      ["0", "1", "2", "3"].map(past),
    );
  });

  it("is the longer one of the same version", () => {
    expect(historyThrough(known("2", "0", "1"), known("2", "1"))).to.deep.equal([past("0"), past("1")]);
    expect(historyThrough(known("2"), known("2"))).to.equal(undefined);
  });

  it("adds nothing twice", () => {
    for (const stored of [known("2", "0", "1"), { ...known("2", "0", "1"), resourceVersion: "1" }]) {
      const newest = { ...known("2"), document: stored.document } as Known;
      const through = withHistoryThrough(stored, newest);
      expect(through?.history).to.deep.equal([past("0"), past("1")]);
      expect(historyThrough(stored, through)).to.equal(undefined);
    }
  });

  it("is none where a FeatureFlag was deleted", () => {
    expect(historyThrough(deleted, known("10"))).to.equal(undefined);
    expect(historyThrough(known("2", "1"), deleted)).to.equal(undefined);
    expect(historyThrough(known("2", "1"), undefined)).to.equal(undefined);
  });
});
