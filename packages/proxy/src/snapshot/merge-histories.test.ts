import {
  buntingSyncV1,
  historyLength,
  type FlagDocument,
  type JsonObject,
  type PastVersion,
} from "@bunting/protocol";
import { HeldFlags } from "@bunting/test/support/held-flags.js";
import { expect } from "chai";
import fc from "fast-check";
import { encodeSnapshot } from "./encode-snapshot.js";
import { mergeHistories } from "./merge-histories.js";
import { Snapshot } from "./snapshot.js";

const past = (name: string, ...flags: string[]): PastVersion => ({
  digest: name,
  flags,
  metadata: false,
  evaluators: false,
});
const many = (prefix: string, count: number): PastVersion[] =>
  Array.from({ length: count }, (_, index) => past(`${prefix}${index}`, prefix));

const ballast: JsonObject = { ballast: { state: "x".repeat(3_000) } };
const content: fc.Arbitrary<FlagDocument> = fc.record({
  flags: fc
    .dictionary(fc.constantFrom("a", "b", "c"), fc.record({ state: fc.nat(2) }))
    .map((flags) => ({ ...ballast, ...flags })),
  metadata: fc.record({ m: fc.nat(1) }),
});

function published(document: FlagDocument, previous?: Snapshot, told?: readonly PastVersion[]): Snapshot {
  return new Snapshot({
    topic: "demo/flags",
    sequence: 1,
    version: { noticedMs: 0 },
    publishedMs: 0,
    bytes: encodeSnapshot(document, previous?.bytes, told),
  });
}

/** What a proxy that holds `held` is told before `newest`. */
function toldTo(held: Snapshot | undefined, newest: Snapshot): readonly PastVersion[] | undefined {
  const frame = newest.topicFrames.historyFrom(held?.digest ?? "");
  if (frame === undefined) return undefined;
  const { message } = buntingSyncV1.SyncResponse.decode(frame.subarray(5));
  if (message?.$case !== "history") throw new Error(message?.$case);
  expect(message.value.digest.toString("hex")).to.equal(newest.digest);
  return message.value.versions.map((version) => ({ ...version, digest: version.digest.toString("hex") }));
}

describe("mergeHistories", () => {
  it("is what the source says where this process knows nothing, and the own one where the source says nothing", () => {
    const told = many("t", 40);
    expect(mergeHistories([], told)).to.deep.equal(told.slice(-historyLength));
    expect(mergeHistories(many("o", 5), [])).to.deep.equal(many("o", 5));
  });

  it("takes the steps since the last own version from the source, and the longer way before", () => {
    const own = [past("o", "a"), past("v1", "b"), past("v2", "b", "c")];
    const since = [past("v2", "b"), past("v3", "c")];
    expect(mergeHistories(own, since)).to.deep.equal([...own.slice(0, 2), ...since]);
    const whole = [...many("t", 4), ...since];
    expect(mergeHistories(own, whole)).to.deep.equal(whole);
    expect(mergeHistories(own, many("t", 31).concat(since))).to.have.length(historyLength);
  });

  it("keeps the own one if what the source says leaves out what has changed", () => {
    const own = [past("v1", "b"), past("v2", "b", "c")];
    expect(mergeHistories(own, [past("v2", "b"), past("v3", "x")])).to.equal(own);
    const withMetadata = [{ ...past("v2", "b"), metadata: true }];
    expect(mergeHistories(withMetadata, [past("v2", "b"), past("v3")])).to.equal(withMetadata);
  });

  it("lets the last time count that the source names a version", () => {
    const cyclic = [past("v2", "a"), past("v3", "a"), past("v2", "b"), past("v3", "b")];
    expect(mergeHistories([past("v2", "b")], cyclic)).to.deep.equal(cyclic);
    expect(mergeHistories([past("v2", "a")], cyclic)).to.deep.equal([past("v2", "a")]);
  });

  it("puts histories that have nothing in common one after the other, so that neither loses its newest versions", () => {
    const own = many("o", 3);
    const told = many("t", 3);
    expect(mergeHistories(own, told)).to.deep.equal([...own, ...told]);
    const full = mergeHistories(many("o", historyLength), many("t", historyLength));
    expect(full).to.deep.equal([
      ...many("o", historyLength).slice(-historyLength / 2),
      ...many("t", historyLength).slice(-historyLength / 2),
    ]);
    expect(mergeHistories(many("o", 1), many("t", historyLength))).to.deep.equal([
      past("o0", "o"),
      ...many("t", historyLength).slice(1),
    ]);
  });

  it("leads every holder of an old version to the newest by its delta, whichever versions passed by here", () => {
    const walk = fc.record({
      documents: fc.array(content, { minLength: 2, maxLength: 45, size: "max" }),
      /** Which versions arrive here, and between which the upstream is another process. */
      arrives: fc.array(fc.boolean(), { minLength: 45, maxLength: 45 }),
      restarts: fc.array(fc.integer({ min: 0, max: 19 }), { minLength: 45, maxLength: 45 }),
    });
    let deltas = 0;
    fc.assert(
      fc.property(walk, ({ documents, arrives, restarts }) => {
        const seen = new Map<string, FlagDocument>();
        let upstream: Snapshot | undefined;
        let here: Snapshot | undefined;
        documents.forEach((document, index) => {
          const next = published(document, restarts[index] === 0 ? undefined : upstream);
          if (next.digest === upstream?.digest) return;
          upstream = next;
          if (arrives[index] === true || index === documents.length - 1) {
            if (upstream.digest !== here?.digest) here = published(document, here, toldTo(here, upstream));
            expect(here.bytes.history.length).to.be.at.most(historyLength);
            for (const [digest, held] of seen) {
              const { kind, frame } = here.topicFrames.from(digest);
              if (kind !== "delta") continue;
              deltas++;
              const { message } = buntingSyncV1.SyncResponse.decode(frame.subarray(5));
              if (message?.$case !== "delta") throw new Error(message?.$case);
              expect(HeldFlags.of(held).apply(message.value).digest).to.equal(here.digest);
            }
          }
          seen.set(next.digest, document);
        });
      }),
      { numRuns: 60 },
    );
    expect(deltas, "deltas that were followed").to.be.greaterThan(1_000);
  });
});
