import { readFileSync } from "node:fs";
import { expect } from "chai";
import fc from "fast-check";
import {
  buntingSyncV1,
  encodeDocument,
  historyLength,
  type FlagDocument,
  type JsonObject,
} from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { HeldFlags } from "@bunting/test/support/held-flags.js";
import { encodeSnapshot } from "./encode-snapshot.js";
import { Snapshot } from "./snapshot.js";
import type { VersionFrame } from "./topic-frames.js";

const version = { noticedMs: 0, uid: "u-1", generation: 3, resourceVersion: "17" };

function snapshotOf(document: FlagDocument, previous?: Snapshot): Snapshot {
  return new Snapshot({
    topic: "demo/flags",
    sequence: (previous?.sequence ?? 0) + 1,
    version,
    publishedMs: 0,
    bytes: encodeSnapshot(document, previous?.bytes),
  });
}

function snapshotsOf(documents: readonly FlagDocument[]): Snapshot[] {
  const snapshots: Snapshot[] = [];
  for (const document of documents) snapshots.push(snapshotOf(document, snapshots.at(-1)));
  return snapshots;
}

function twoSnapshots(before: FlagDocument, after: FlagDocument): [Snapshot, Snapshot] {
  const first = snapshotOf(before);
  return [first, snapshotOf(after, first)];
}

function read({ frame }: VersionFrame): NonNullable<buntingSyncV1.SyncResponse["message"]> {
  expect(frame.readUInt32BE(1)).to.equal(frame.length - 5);
  const { message } = buntingSyncV1.SyncResponse.decode(frame.subarray(5));
  if (message === undefined) throw new Error("an empty message");
  return message;
}

function readDelta(frame: VersionFrame): buntingSyncV1.Delta {
  const message = read(frame);
  if (message.$case !== "delta") throw new Error(`expected a delta, but there came ${message.$case}`);
  return message.value;
}

/** Flags that stay the same, so that a delta is smaller than half the document. */
const ballast: JsonObject = Object.fromEntries(
  Array.from({ length: 8 }, (_, i) => [`ballast-${i}`, { state: "x".repeat(400) }]),
);

const content: fc.Arbitrary<FlagDocument> = fc.record(
  {
    flags: fc
      .dictionary(
        fc.constantFrom("a", "b", "\u{1F600}", "\uFB00", "__proto__"),
        fc.record({ state: fc.constantFrom("1", "2") }),
      )
      .map((flags) => ({ ...ballast, ...flags })),
    metadata: fc.dictionary(fc.constant("m"), fc.integer({ min: 0, max: 2 })),
    $evaluators: fc.dictionary(fc.constant("e"), fc.integer({ min: 0, max: 2 })),
  },
  { requiredKeys: ["flags"] },
);

describe("the messages of bunting.sync.v1 about a version", () => {
  it("have the digests that both ends agreed on", () => {
    const url = new URL("../../../../test/fixtures/document-digests.json", import.meta.url);
    const vectors = JSON.parse(readFileSync(url, "utf8")) as { document: FlagDocument; digest: string }[];
    for (const { document, digest } of vectors) expect(snapshotOf(document).digest).to.equal(digest);
  });

  it("hold the whole document as ts-proto would write it", () => {
    for (const length of [1, 100, 127, 128, 16_384, 2_097_152]) {
      const document = { flags: { f: { state: "é".repeat(length) } } };
      const snapshot = snapshotOf(document);
      const { frame } = snapshot.topicFrames.from("");
      const message = {
        $case: "snapshot" as const,
        value: {
          topic: "demo/flags",
          version: {
            uid: "u-1",
            generation: "3",
            resourceVersion: "17",
            digest: Buffer.from(snapshot.digest, "hex"),
          },
          document: Buffer.from(encodeDocument(document)),
        },
      };
      const expected = frameMessage(buntingSyncV1.SyncResponse.encode({ message }).finish());
      expect(frame.equals(expected), String(length)).to.be.true;
    }
  });

  it("lead from any of the last 32 versions to the newest, by no more than what differs on the way", () => {
    fc.assert(
      fc.property(fc.array(content, { minLength: 2, maxLength: 40, size: "max" }), (documents) => {
        const snapshots = snapshotsOf(documents);
        const newest = snapshots.at(-1);
        if (newest === undefined) return;
        snapshots.forEach((held, index) => {
          const frame = newest.topicFrames.from(held.digest);
          if (held.digest === newest.digest) {
            expect(frame.kind).to.equal("unchanged");
            return;
          }
          const isKnown = snapshots.slice(-1 - historyLength).some(({ digest }) => digest === held.digest);
          expect(frame.kind).to.equal(isKnown ? "delta" : "snapshot");
          if (!isKnown) return;
          const delta = readDelta(frame);
          const before = HeldFlags.of(documents[index] ?? { flags: {} });
          expect(delta.fromDigest.toString("hex")).to.equal(held.digest).and.equal(before.digest);
          expect(before.apply(delta).digest).to.equal(newest.digest);
          const way = documents.slice(
            documents.findLastIndex((_, at) => snapshots[at]?.digest === held.digest),
          );
          for (const { key } of delta.flags) {
            const texts = way.map((document) => HeldFlags.of(document).flags.get(key));
            expect(new Set(texts).size, `${key} never changed`).to.be.above(1);
          }
        });
      }),
      { numRuns: 30 },
    );
  });

  it("contain metadata and $evaluators only if they changed, and no bytes if they were removed", () => {
    const [before, after] = twoSnapshots(
      { flags: ballast, metadata: { v: 1 }, $evaluators: { e: 1 } },
      { flags: ballast, metadata: { v: 1 } },
    );
    const delta = readDelta(after.topicFrames.from(before.digest));
    expect(delta.flags).to.deep.equal([]);
    expect(delta.metadata).to.equal(undefined);
    expect(delta.evaluators).to.have.length(0);
  });

  it("begin at the 32nd version before the newest, and not at the 33rd", () => {
    const documents = Array.from({ length: historyLength + 2 }, (_, i) => ({
      flags: { ...ballast, f: { state: String(i) } },
    }));
    const snapshots = snapshotsOf(documents);
    const frames = snapshots.at(-1)?.topicFrames;
    expect(frames?.from(snapshots[0]?.digest ?? "").kind).to.equal("snapshot");
    expect(frames?.from(snapshots[1]?.digest ?? "").kind).to.equal("delta");
  });

  it("are the snapshot if the delta would have more than half its bytes", () => {
    const flags = (changed: number, state: string): JsonObject =>
      Object.fromEntries(
        Array.from({ length: 100 }, (_, i) => [
          `flag-${i}`,
          { state: i < changed ? state : "same".repeat(20) },
        ]),
      );
    const kindOf = (changed: number): string => {
      const [before, after] = twoSnapshots(
        { flags: flags(0, "") },
        { flags: flags(changed, "diff".repeat(20)) },
      );
      return after.topicFrames.from(before.digest).kind;
    };
    expect([1, 40, 60, 100].map(kindOf)).to.deep.equal(["delta", "delta", "snapshot", "snapshot"]);
  });

  it("are the snapshot if the held digest is unknown, and keep nothing of it", () => {
    const { topicFrames } = snapshotOf({ flags: ballast });
    for (const digest of ["", "00".repeat(32), "ff".repeat(32)])
      expect(topicFrames.from(digest)).to.equal(topicFrames.whole);
  });

  it("are made once for all agents, and again for a later version of the object", () => {
    const [before, after] = twoSnapshots({ flags: ballast }, { flags: { ...ballast, f: { state: "1" } } });
    const from = before.digest;
    expect(after.topicFrames.from(from)).to.equal(after.topicFrames.from(from));
    expect(after.topicFrames.from("")).to.equal(after.topicFrames.whole);
    const later = after.at({ noticedMs: 0, uid: "u-1", resourceVersion: "18" });
    const message = read(later.topicFrames.from(later.digest));
    expect(message.$case === "unchanged" && message.value.version?.resourceVersion).to.equal("18");
    expect(readDelta(later.topicFrames.from(from)).version?.resourceVersion).to.equal("18");
  });
});
