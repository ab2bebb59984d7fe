import { encodeDocument, ReplicaDocument, type FlagDocument, type PastVersion } from "@bunting/protocol";
import { decodeVersion, type DocumentVersion, type StaleCause } from "@bunting/sync-client/messages";
import {
  readRequest,
  writeVersion,
  type Request,
} from "@bunting/sync-client/internal/bunting-messages.fixture.js";
import { createLogger, errorCode } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { noMetrics } from "../../proxy-metrics.js";
import { DocumentLedger } from "../../topic/document-ledger.js";
import { TopicRegistry } from "../../topic/topic-registry.js";
import type { FlagSource, SourceReport, SourceSink } from "../flag-source.js";
import { RecordingSink } from "../source.fixture.js";
import { LargeDocuments } from "../large-documents.js";
import type { TopicMessage } from "./topic-message.js";
import { UpstreamTopic } from "./upstream-topic.js";

const topic = "team-a/checkout";
type Sink = Parameters<FlagSource["watch"]>[1];

const documentOf = (state: string): FlagDocument => ({
  flags: { f: { state }, other: { state: "ENABLED" } },
});
const bytesOf = (document: FlagDocument): Buffer => Buffer.from(encodeDocument(document));

function versionOf(document: FlagDocument, resourceVersion = ""): DocumentVersion {
  const digest = ReplicaDocument.parse(bytesOf(document)).digest();
  return decodeVersion(writeVersion({ uid: "one", generation: "3", resourceVersion, digest }));
}

const snapshot = (state: string, resourceVersion = ""): TopicMessage => ({
  kind: "snapshot",
  topic,
  version: versionOf(documentOf(state), resourceVersion),
  document: bytesOf(documentOf(state)),
});
const unchanged = (state: string, resourceVersion = ""): TopicMessage => ({
  kind: "unchanged",
  topic,
  version: versionOf(documentOf(state), resourceVersion),
});
const delta = (from: string, to: string, flag = JSON.stringify({ state: to })): TopicMessage => ({
  kind: "delta",
  topic,
  fromDigest: versionOf(documentOf(from)).digest,
  version: versionOf(documentOf(to)),
  flags: [{ key: "f", flag: Buffer.from(flag) }],
  metadata: undefined,
  evaluators: undefined,
});
const freshness = (isStale: boolean, reason = "", cause?: StaleCause): TopicMessage => ({
  kind: "freshness",
  topic,
  isStale,
  reason,
  cause,
});
const refusal = (code: number, message: string): TopicMessage => ({
  kind: "topic_error",
  topic,
  code,
  message,
  retryAfterMs: 0,
});

describe("UpstreamTopic", () => {
  let sink: RecordingSink;
  let held: UpstreamTopic;
  let number: number;
  let freeBytes: number;
  beforeEach(() => {
    sink = new RecordingSink();
    freeBytes = 1_000_000_000;
    const room = { has: (bytes: number): boolean => bytes <= freeBytes, freeBytes };
    held = new UpstreamTopic(topic, sink satisfies Sink, new ManualClock(), {
      room,
      large: new LargeDocuments(),
    });
    number = 0;
  });

  const take = (message: TopicMessage): Request => {
    const answer = held.take(message, ++number);
    return answer === undefined ? {} : readRequest(answer);
  };
  const states = (): unknown[] =>
    sink.events.map((event) =>
      event.kind === "document"
        ? (JSON.parse(event.text) as { flags: { f: { state: string } } }).flags.f.state
        : event.kind,
    );
  const reason = (): string => {
    const { last } = sink;
    return last?.kind === "stale" ? last.reason.message : "";
  };

  it("tells each version with its fields, and acknowledges the message by its number", () => {
    const { ack } = take(snapshot("ENABLED", "17"));
    expect(ack).to.deep.include({ topic, number: "1", digest: versionOf(documentOf("ENABLED")).digest });
    const [first] = sink.events;
    if (first?.kind !== "document") throw new Error("a document was expected");
    expect(first.version).to.include({ uid: "one", generation: 3, resourceVersion: "17" });
    expect(take(delta("ENABLED", "DISABLED")).ack).to.include({ number: "2" });
    expect(states()).to.deep.equal(["ENABLED", "DISABLED"]);
  });

  it("goes on where there is no memory for a version that some agents are to try: nobody here tries it", () => {
    const clock = new ManualClock();
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const sinks: SourceSink[] = [];
    const source = Object.assign(new ScriptedSource(clock), {
      watch: (_: string, to: SourceSink) => void sinks.push(to),
    });
    const topics = new TopicRegistry(
      {
        ...{ source, context: { clock, logger, metrics: noMetrics }, lingerMs: 0 },
        ...{ missingPolicy: "hold", deletionGraceMs: 0, deletionPolicy: "keep" },
      },
      new DocumentLedger(10_000),
    );
    topics.subscribe(topic, { wake: () => undefined, refuse: () => undefined });
    const [staged] = sinks;
    if (staged === undefined) throw new Error("the topic is not watched");
    const room = { has: () => true, freeBytes };
    held = new UpstreamTopic(topic, staged, clock, { room, large: new LargeDocuments() });
    const isServed = (state: string): boolean =>
      [...topics.topics()].every(({ newest }) => newest?.text.includes(`"${state}"`) === true);
    take(snapshot("ENABLED"));
    const document = documentOf("x".repeat(10_000));
    take({
      ...{ kind: "trial", topic, generation: 4, reach: 10, document: bytesOf(document) },
      digest: versionOf(document).digest,
    });
    expect(isServed("ENABLED")).to.equal(true);
    expect(held.trialReport()).to.equal(undefined);
    expect(take(delta("ENABLED", "DISABLED")).ack).to.include({ number: "3" });
    expect(isServed("DISABLED")).to.equal(true);
    take(freshness(true, "away"));
    take(freshness(false));
  });

  it("resumes from what it holds, and tells nothing new if the upstream has the same", () => {
    expect(readRequest(held.subscribeMessage()).subscribe?.held).to.equal(undefined);
    take(snapshot("ENABLED", "17"));
    held.lost();
    const subscribed = readRequest(held.subscribeMessage()).subscribe?.held;
    expect(subscribed).to.include({ uid: "one", resourceVersion: "17" });
    expect(take(unchanged("ENABLED", "18")).ack).to.include({ number: "2" });
    expect(sink.sameDocuments).to.equal(1);
    expect(readRequest(held.subscribeMessage()).subscribe?.held).to.include({ resourceVersion: "18" });
  });

  it("asks for a snapshot when a delta starts elsewhere, leads elsewhere or is no JSON, and keeps what it has", () => {
    take(snapshot("ENABLED"));
    const wrong = [
      delta("OTHER", "DISABLED"),
      delta("ENABLED", "DISABLED", '{"state":"X"}'),
      delta("ENABLED", "X", "{"),
    ];
    for (const message of wrong) {
      const { nack } = take(message);
      expect(nack).to.include({ isDeltaMismatch: true, number: String(number) });
      expect(nack?.heldDigest).to.deep.equal(versionOf(documentOf("ENABLED")).digest);
    }
    expect(states()).to.deep.equal(["ENABLED"]);
  });

  it("says of an upstream that it goes on with deltas that don't fit, until it sends a document", () => {
    take(snapshot("ENABLED"));
    const repeat = (times: number): void => {
      for (let index = 0; index < times; index++) take(delta("ENABLED", "DISABLED", '{"state":"X"}'));
    };
    repeat(3);
    expect(held.isMismatched).to.equal(false);
    take(snapshot("ENABLED"));
    repeat(3);
    held.lost();
    repeat(3);
    expect(held.isMismatched).to.equal(false);
    repeat(1);
    expect(held.isMismatched).to.equal(true);
    take(delta("ENABLED", "DISABLED"));
    expect(held.isMismatched).to.equal(false);
  });

  it("asks for the whole document once deltas may have made more of it than a message can bring", () => {
    const large = (text: string): FlagDocument => ({
      flags: { ...documentOf("ENABLED").flags, large: { state: text.repeat(9 << 20) } },
    });
    const grow = (from: FlagDocument, to: FlagDocument): TopicMessage =>
      ({
        ...delta("ENABLED", "DISABLED"),
        fromDigest: versionOf(from).digest,
        version: versionOf(to),
        flags: [{ key: "large", flag: Buffer.from(JSON.stringify(to.flags["large"])) }],
      }) as TopicMessage;
    take(snapshot("ENABLED"));
    expect(take(grow(documentOf("ENABLED"), large("a"))).ack).to.include({ number: "2" });
    expect(take(grow(large("a"), large("b"))).nack).to.include({ isDeltaMismatch: true });
    const whole = { ...snapshot("ENABLED"), version: versionOf(large("b")), document: bytesOf(large("b")) };
    expect(take(whole).ack).to.include({ number: "4" });
  });

  it("refuses a document and a delta that the heap has no room for, until it has", () => {
    take(snapshot("ENABLED"));
    freeBytes = 100;
    expect(take(snapshot("DISABLED")).nack).to.include({ isDeltaMismatch: false });
    expect(reason()).to.match(
      /is refused: its 0\.0 MB need 0\.0 MB of heap, .* raise the container's memory/,
    );
    expect([held.isBlockedByHeap, held.hasRoom, held.isMismatched]).to.deep.equal([true, false, false]);
    expect(take(delta("ENABLED", "DISABLED")).nack).to.include({ isDeltaMismatch: false });
    take(freshness(true, "the API server is down"));
    expect([held.isBlockedByHeap, held.hasRoom]).to.deep.equal([true, false]);
    freeBytes = 1_000_000_000;
    expect(held.hasRoom).to.equal(true);
    expect(take(delta("ENABLED", "DISABLED")).ack).to.include({ number: "5" });
    expect(held.isBlockedByHeap).to.equal(false);
    freeBytes = 100;
    take(snapshot("ENABLED"));
    held.lost();
    expect(held.isBlockedByHeap, "the next stream brings it again").to.equal(false);
  });

  it("survives flags that are nested more deeply than the stack goes", () => {
    take(snapshot("ENABLED"));
    const deep = `{"state":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
    expect(take(delta("ENABLED", "DISABLED", deep)).nack).to.include({ isDeltaMismatch: true });
    const whole = {
      ...snapshot("ENABLED"),
      document: Buffer.from(`{"flags":{"f":${deep}}}`),
    } as TopicMessage;
    expect(take(whole).nack).to.include({ isDeltaMismatch: false });
    expect(reason()).to.contain(`the document that the upstream sends of ${topic} is refused`);
    expect(held.refusal, "which is logged").to.equal(reason());
    expect(take(delta("ENABLED", "DISABLED")).ack).to.include({ number: "4" });
  });

  it("is stale with what the upstream says until it says otherwise, and then tells the last state again", () => {
    take(snapshot("ENABLED"));
    take(freshness(true, "the API server is down"));
    expect(reason()).to.contain("the API server is down");
    take(delta("ENABLED", "DISABLED"));
    expect(reason(), "after another version too").to.contain("the API server is down");
    take(freshness(false));
    expect(states().at(-1)).to.equal("DISABLED");
  });

  it("stays stale while the newest document is refused, although the upstream is not stale any more", () => {
    take(snapshot("ENABLED"));
    take(freshness(true, "the API server is down"));
    take({ ...snapshot("DISABLED"), document: Buffer.from("{}") } as TopicMessage);
    take(freshness(false));
    expect(reason()).to.contain(`the document that the upstream sends of ${topic} is refused`);
    take(snapshot("DISABLED"));
    expect(states().at(-1)).to.equal("DISABLED");
  });

  it("needs no other explanation once the upstream has said why it can't answer, until the stream is lost", () => {
    expect(held.isUnexplained).to.equal(true);
    take(freshness(true, "the API server is down"));
    expect(held.isUnexplained).to.equal(false);
    held.lost();
    expect(held.isUnexplained).to.equal(true);
    take(refusal(7, "you may not"));
    expect(held.isUnexplained).to.equal(false);
  });

  it("is stale with the refusal of the upstream, and missing where it refuses because there is none", () => {
    take(refusal(7, "you may not"));
    expect(reason()).to.equal(`the upstream refuses ${topic}: you may not`);
    expect(held.refusal).to.equal(reason());
    take(refusal(5, "there is none"));
    expect(sink.last?.kind).to.equal("missing");
    expect(held.refusal).to.equal(undefined);
  });

  it("waits for an answer of each new stream, although it still holds what the one before said", () => {
    take(snapshot("ENABLED"));
    expect(held.isUnexplained).to.equal(false);
    held.lost();
    expect(held.isUnexplained).to.equal(true);
    take(unchanged("ENABLED"));
    expect(held.isUnexplained).to.equal(false);
  });

  it("takes the result of a read beside its stream only as the version of what it has told", () => {
    take(snapshot("ENABLED", "17"));
    held.refreshed(versionOf(documentOf("DISABLED"), "20"));
    expect(sink.sameDocuments, "another document").to.equal(0);
    held.refreshed(versionOf(documentOf("ENABLED"), "20"));
    expect(sink.sameDocuments).to.equal(1);
    take({ kind: "deleted", topic, policy: "keep" });
    held.refreshed(versionOf(documentOf("ENABLED"), "21"));
    expect(sink.last?.kind, "its stream has to say that it is back").to.equal("deleted");
  });

  it("tells those below the cause that the upstream names, or that its refusal has", () => {
    const codeAfter = (message: TopicMessage): string | undefined => {
      take(message);
      return sink.last?.kind === "stale" ? errorCode(sink.last.reason) : undefined;
    };
    expect(codeAfter(freshness(true, "403", "refused"))).to.equal("SOURCE_REFUSED");
    expect(codeAfter(freshness(true, "no CRD", "misconfigured"))).to.equal("SOURCE_MISCONFIGURED");
    expect(codeAfter(freshness(true, "bad flags", "invalid"))).to.equal("DOCUMENT_INVALID");
    expect(codeAfter(freshness(true, "away"))).to.equal("SOURCE_UNREADABLE");
    expect(codeAfter(refusal(7, "not yours"))).to.equal("SOURCE_REFUSED");
    expect(codeAfter(refusal(3, "a selector?"))).to.equal("SOURCE_MISCONFIGURED");
    expect(codeAfter(refusal(12, "no such service"))).to.equal("SOURCE_MISCONFIGURED");
    expect(codeAfter(refusal(14, "draining"))).to.equal("SOURCE_UNREADABLE");
  });

  it("lets no text of the upstream begin a line or act on a terminal", () => {
    const hostile = "a\nlevel=info b\u001b[2J";
    for (const message of [refusal(7, hostile), freshness(true, hostile)]) {
      take(message);
      expect(reason()).to.contain("a level=info b?[2J");
    }
  });

  describe("of which the upstream tells the history", () => {
    const past = (state: string): PastVersion => ({
      digest: versionOf(documentOf(state)).digest.toString("hex"),
      flags: ["f"],
      metadata: false,
      evaluators: false,
    });
    const history = (to: string, ...states: readonly string[]): TopicMessage => ({
      kind: "history",
      topic,
      digest: versionOf(documentOf(to)).digest,
      versions: states.map(past),
    });

    it("passes it on with the version that it leads to", () => {
      expect(take(history("C", "A", "B")), "it is not answered").to.deep.equal({});
      take(snapshot("C"));
      take(history("E", "C", "D"));
      take(delta("C", "E"));
      take(delta("E", "F"));
      expect(sink.histories).to.deep.equal([[past("A"), past("B")], [past("C"), past("D")], undefined]);
    });

    it("passes it on with no other version, and not with one of another stream", () => {
      take(history("OTHER", "A"));
      take(snapshot("B"));
      take(snapshot("OTHER"));
      take(history("C", "A"));
      held.lost();
      take(snapshot("C"));
      expect(sink.histories).to.deep.equal([undefined, undefined, undefined]);
    });

    it("says nothing by it of what the topic is", () => {
      let answers = 0;
      held.onAnswer(() => answers++);
      take(history("B", "A"));
      expect([held.isUnexplained, answers, sink.events.length]).to.deep.equal([true, 0, 0]);
    });

    it("drops it where the heap has no room for it", () => {
      freeBytes = 200;
      take(history("B", "A"));
      freeBytes = 1_000_000_000;
      take(snapshot("B"));
      expect(sink.histories).to.deep.equal([undefined]);
    });
  });

  describe("of a large document", () => {
    const count = 30_000;
    const large = (state: string): FlagDocument => ({
      flags: {
        f: { state },
        ...Object.fromEntries(
          Array.from({ length: count }, (_, index) => [
            `flag-${index}`,
            { state: "ENABLED", variants: { on: true } },
          ]),
        ),
      },
    });
    const whole = (state: string): TopicMessage => ({
      kind: "snapshot",
      topic,
      version: versionOf(large(state)),
      document: bytesOf(large(state)),
    });
    const edit = (from: string, to: string): TopicMessage => ({
      ...(delta(from, to) as Extract<TopicMessage, { readonly kind: "delta" }>),
      fromDigest: versionOf(large(from)).digest,
      version: versionOf(large(to)),
    });
    /** How many turns everything else of the process has while this is done. */
    const turnsOf = async (work: Promise<void> | undefined): Promise<number> => {
      let [turns, isDone] = [0, false];
      const count = (): void => {
        turns++;
        if (!isDone) setImmediate(count);
      };
      count();
      await work;
      isDone = true;
      return turns;
    };

    it("reads it, and edits of it, in turns of the event loop, before it tells the same as it would at once", async () => {
      const steps = [whole("ENABLED"), edit("ENABLED", "DISABLED"), edit("DISABLED", "ENABLED")];
      for (const step of steps) {
        // One is counted before the work begins. How many more there are is up to the machine: a fast one has done it in two.
        expect(await turnsOf(held.prepare(step))).to.be.greaterThan(1);
        expect(take(step)).to.have.property("ack");
      }
      expect(states()).to.deep.equal(["ENABLED", "DISABLED", "ENABLED"]);
      const [first] = sink.events;
      expect(first).to.have.property("text", encodeDocument(large("ENABLED")));
      expect(sink.lastText).to.equal(encodeDocument(large("ENABLED")));
    });

    it("hands over what it tells, so that it can be encoded in turns as well", async () => {
      const prepared: FlagDocument[] = [];
      const told: FlagDocument[] = [];
      const encoding = new LargeDocuments((document) => {
        prepared.push(document);
        return Promise.resolve();
      });
      const recording = Object.assign(new RecordingSink(), {
        report: (report: SourceReport) => {
          if (report.kind === "document") told.push(report.document);
        },
      });
      const room = { has: () => true, freeBytes: 0 };
      held = new UpstreamTopic(topic, recording, new ManualClock(), { room, large: encoding });
      for (const step of [whole("ENABLED"), edit("ENABLED", "DISABLED")]) {
        await held.prepare(step);
        take(step);
      }
      expect(prepared).to.have.length(2);
      expect(prepared.every((document, index) => document === told[index])).to.equal(true);
    });

    it("refuses what can't be read, as it would at once", async () => {
      const broken = { ...whole("ENABLED"), document: Buffer.alloc(2_000_000, "[") } as TopicMessage;
      await held.prepare(broken);
      expect(take(broken).nack).to.include({ isDeltaMismatch: false });
      expect(reason()).to.contain("is refused: it is nested more than");
      const listed = Buffer.from(`{"flags":{"f":1,"g":{"state":"${"x".repeat(2_000_000)}"}}}`);
      const wrong = { ...whole("ENABLED"), document: listed } as TopicMessage;
      await held.prepare(wrong);
      expect(take(wrong)).to.have.property("nack");
      expect(reason()).to.contain('a flag is an object, but "f" is a number');
    });

    it("does not read it before there is room", async () => {
      freeBytes = 1_000;
      await held.prepare(whole("ENABLED"));
      expect(take(whole("ENABLED"))).to.have.property("nack");
      expect(held.isBlockedByHeap).to.equal(true);
      freeBytes = 1_000_000_000;
      await held.prepare(whole("ENABLED"));
      expect(take(whole("ENABLED"))).to.have.property("ack");
    });

    it("does not let it wait where too much waits already, and asks for it again", async () => {
      const message = whole("ENABLED") as Extract<TopicMessage, { readonly kind: "snapshot" }>;
      const large = new LargeDocuments(undefined, message.document.length * 1.5);
      const room = { has: () => true, freeBytes: 0 };
      held = new UpstreamTopic(topic, sink, new ManualClock(), { room, large });
      let finish: () => void = () => undefined;
      const first = large.read(message.document.length, async () => {
        await new Promise<void>((resolve) => (finish = resolve));
        return undefined;
      });
      await turn();
      expect(held.prepare(message)).to.equal(undefined);
      expect(take(message)).to.have.property("nack");
      expect(reason()).to.match(/is refused: its [\d.]+ MB came while others waited to be read/);
      expect(held.isBlockedByHeap, "it is asked for again").to.equal(true);
      finish();
      await first;
      await held.prepare(message);
      expect(take(message)).to.have.property("ack");
      expect(held.isBlockedByHeap).to.equal(false);
    });

    it("counts an edit that is large itself, also of a small document, and refuses it where too much waits", async () => {
      const text = "x".repeat(2_000_000);
      const grown: FlagDocument = { flags: { ...documentOf("ENABLED").flags, f: { state: text } } };
      const edit: TopicMessage = {
        ...(delta("ENABLED", text) as Extract<TopicMessage, { readonly kind: "delta" }>),
        version: versionOf(grown),
      };
      const large = new LargeDocuments(undefined, 3_000_000);
      const room = { has: () => true, freeBytes: 0 };
      held = new UpstreamTopic(topic, sink, new ManualClock(), { room, large });
      take(snapshot("ENABLED"));
      let finish: () => void = () => undefined;
      const first = large.read(1_500_000, async () => {
        await new Promise<void>((resolve) => (finish = resolve));
        return undefined;
      });
      await turn();
      expect(held.prepare(edit)).to.equal(undefined);
      expect(take(edit).nack).to.include({ isDeltaMismatch: false });
      expect([
        held.isBlockedByHeap,
        held.digest?.equals(versionOf(documentOf("ENABLED")).digest),
      ]).to.deep.equal([true, true]);
      finish();
      await first;
      const waiting = held.prepare(edit);
      expect(large.mayWait(1_500_000), "it waits").to.equal(false);
      await waiting;
      expect(take(edit)).to.have.property("ack");
    });

    it("keeps nothing of one that it refuses, not even by the error that says so", async () => {
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void;
      freeBytes = 1_000;
      const refuse = async (): Promise<WeakRef<Buffer>> => {
        const message = whole("ENABLED") as Extract<TopicMessage, { readonly kind: "snapshot" }>;
        await held.prepare(message);
        const receive = (): Request => take(message);
        expect(receive()).to.have.property("nack");
        return new WeakRef(message.document);
      };
      const document = await refuse();
      await eventually(() => {
        collect();
        return document.deref() === undefined;
      }, "the document to be collected");
      expect(reason()).to.contain("MB of heap");
    });

    it("leaves small ones to be read at once", () => {
      expect(held.prepare(snapshot("ENABLED"))).to.equal(undefined);
      expect(held.prepare(freshness(true, "why"))).to.equal(undefined);
    });
  });

  it("holds nothing after a deletion that empties, and still what it had after one that keeps", () => {
    take(snapshot("ENABLED"));
    take({ kind: "deleted", topic, policy: "keep" });
    expect(readRequest(held.subscribeMessage()).subscribe?.held).not.to.equal(undefined);
    take(unchanged("ENABLED"));
    expect(states(), "it is told again that there is a document").to.deep.equal([
      "ENABLED",
      "deleted",
      "ENABLED",
    ]);
    expect(
      sink.sameDocuments,
      "a sink may have emptied itself at the deletion: it needs the document",
    ).to.equal(0);
    take({ kind: "deleted", topic, policy: "empty" });
    expect(readRequest(held.subscribeMessage()).subscribe?.held).to.equal(undefined);
  });
});
