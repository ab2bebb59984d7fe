import { expect } from "chai";
import { readRequest, writeVersion, type Request } from "./bunting-messages.fixture.js";
import type { Delta, DocumentVersion, SnapshotMessage, VersionMessage } from "./bunting-messages.js";
import { decodeVersion } from "./decode-sync-response.js";
import {
  TopicReplica,
  type MergedDraft,
  type ReplicaHolder,
  type ReplicaVersion,
  type VersionOutcome,
} from "./topic-replica.js";

const topic = "team-a/checkout";

function versionOf(name: string, resourceVersion = ""): DocumentVersion {
  return decodeVersion(writeVersion({ resourceVersion, digest: digestOf(name) }));
}

function digestOf(name: string): Buffer {
  return Buffer.alloc(32, name);
}

const snapshot = (name: string): VersionMessage => ({
  kind: "snapshot",
  topic,
  version: versionOf(name),
  document: Buffer.from(name),
});
const unchanged = (name: string, resourceVersion = ""): VersionMessage => ({
  kind: "unchanged",
  topic,
  version: versionOf(name, resourceVersion),
});
const delta = (from: string, to: string, change = to): VersionMessage => ({
  kind: "delta",
  topic,
  fromDigest: digestOf(from),
  version: versionOf(to),
  flags: [{ key: change, flag: Buffer.alloc(0) }],
});

interface Named extends ReplicaVersion {
  readonly name: string;
}

/** A document that is its name; a delta says the new one. */
class NamedHolder implements ReplicaHolder<Named> {
  current: Named | undefined;
  /** What the next version is answered by. */
  outcome: VersionOutcome = { rejectedFlags: [] };
  /** Why the next delta can't be applied. */
  unmergeable: VersionOutcome | undefined;

  confirm({ name }: Named, version: DocumentVersion): VersionOutcome {
    return this.#take(name, version);
  }

  replace({ document, version }: SnapshotMessage): VersionOutcome {
    return this.#take(document.toString(), version);
  }

  merge(_current: unknown, { flags, version }: Delta): MergedDraft | VersionOutcome {
    const name = flags[0]?.key ?? "";
    return this.unmergeable ?? { digest: digestOf(name), take: () => this.#take(name, version) };
  }

  #take(name: string, version: DocumentVersion): VersionOutcome {
    if ("rejectedFlags" in this.outcome) this.current = { name, version };
    return this.outcome;
  }
}

describe("TopicReplica", () => {
  let holder: NamedHolder;
  let replica: TopicReplica<Named>;
  beforeEach(() => {
    holder = new NamedHolder();
    replica = new TopicReplica<Named>(topic, holder);
  });

  it("names in a second answer what turns out to be of no use, on each stream, until there is another version", () => {
    const complaint = { key: "b", reason: "fails" };
    const named = (answer: Buffer | undefined): unknown => {
      const { ack } = readRequest(answer ?? Buffer.alloc(0));
      return [ack?.number, ack?.rejectedFlags.map(({ key }) => key)];
    };
    replica.complain(complaint);
    expect(replica.complaint(), "nothing was taken").to.equal(undefined);
    holder.outcome = { rejectedFlags: [{ key: "a", reason: "bad" }] };
    replica.take(snapshot("a"), 3);
    expect(replica.complaint(), "there is nothing to complain of").to.equal(undefined);
    for (let time = 0; time < 2; time++) replica.complain(complaint);
    expect(named(replica.complaint())).to.deep.equal(["3", ["b", "a"]]);
    // It comes on another stream.
    expect(named(replica.take(unchanged("a"), 1).answer), "it is served").to.deep.equal(["1", ["a"]]);
    expect(named(replica.complaint())).to.deep.equal(["1", ["b", "a"]]);
    expect(named(replica.take(snapshot("b"), 2).answer)).to.deep.equal(["2", ["a"]]);
    expect(replica.complaint()).to.equal(undefined);
    for (let i = 0; i < 200; i++) replica.complain({ key: `c${i}`, reason: "fails" });
    const [, keys] = named(replica.complaint()) as [string, string[]];
    expect(keys).to.have.length(100);
    holder.outcome = { refusal: "no" };
    replica.take(snapshot("c"), 1);
    expect(replica.complaint(), "the last message is of no version that is held").to.equal(undefined);
  });

  const take = (message: VersionMessage, number = 1): Request =>
    readRequest(replica.take(message, number).answer);

  it("acknowledges each version that the holder takes, by the message's number and the version's digest", () => {
    for (const [number, message] of [snapshot("a"), delta("a", "b"), unchanged("b", "7")].entries()) {
      const { ack } = take(message, number + 1);
      expect(ack).to.deep.equal({
        topic,
        number: String(number + 1),
        digest: message.version.digest,
        rejectedFlags: [],
      });
    }
    expect(holder.current).to.deep.equal({ name: "b", version: versionOf("b", "7") });
  });

  it("subscribes with the version that is held, on whichever stream", () => {
    expect(readRequest(replica.subscribeMessage()).subscribe).to.include({ topic, held: undefined });
    take(snapshot("a"));
    take(unchanged("a", "8"));
    const { held } = readRequest(replica.subscribeMessage()).subscribe ?? {};
    expect(held).to.include({ resourceVersion: "8" });
    expect(held?.digest).to.deep.equal(digestOf("a"));
  });

  for (const [what, message] of [
    ["a delta from another version", delta("x", "b")],
    ["a delta to another digest than it says", delta("a", "b", "c")],
    ["a version called unchanged that is not held", unchanged("b")],
  ] as const) {
    it(`asks for the whole document after ${what}, and keeps what it has`, () => {
      take(snapshot("a"));
      const { nack } = take(message, 2);
      expect(nack).to.include({ topic, number: "2", isDeltaMismatch: true });
      expect(nack?.heldDigest).to.deep.equal(digestOf("a"));
      expect(holder.current?.name).to.equal("a");
    });

    it(`asks for the whole document after ${what} while it holds none`, () => {
      const { nack } = take(message);
      expect(nack).to.include({ isDeltaMismatch: true });
      expect(nack?.heldDigest).to.have.length(0);
    });
  }

  it("answers with the holder's reason why a delta can't be applied", () => {
    take(snapshot("a"));
    holder.unmergeable = { mismatch: "it has no order" };
    expect(take(delta("a", "b")).nack).to.include({ reason: "it has no order", isDeltaMismatch: true });
    holder.unmergeable = { refusal: "it has no room" };
    expect(take(delta("a", "b")).nack).to.include({ reason: "it has no room", isDeltaMismatch: false });
  });

  it("refuses what the holder refuses, with the digest that is still held", () => {
    take(snapshot("a"));
    holder.outcome = { refusal: "it is none" };
    for (const message of [snapshot("b"), delta("a", "b")]) {
      const { nack } = take(message, 2);
      expect(nack).to.include({ reason: "it is none", isDeltaMismatch: false });
      expect(nack?.heldDigest).to.deep.equal(digestOf("a"));
    }
  });

  it("cuts reasons and the list of rejected flags to what a proxy accepts, between characters", () => {
    const long = "ü".repeat(600);
    holder.outcome = { rejectedFlags: Array.from({ length: 101 }, () => ({ key: long, reason: long })) };
    const named = take(snapshot("a")).ack?.rejectedFlags ?? [];
    expect(named).to.have.length(100);
    expect(named[0]).to.deep.equal({ key: "ü".repeat(512), reason: "ü".repeat(128) });
    holder.outcome = { refusal: long };
    expect(take(snapshot("b")).nack?.reason).to.equal("ü".repeat(512));
  });
});
