import { FlagStore } from "@bunting/agent/internal/store/flag-store.js";
import { HeapBudget } from "@bunting/agent/internal/store/heap-budget.js";
import { noStoreMetrics } from "@bunting/agent/internal/store/store-metrics.fixture.js";
import { TopicDocument } from "@bunting/agent/internal/sync/topic-document.js";
import { TopicCopy } from "@bunting/cli/internal/sync/topic-copy.js";
import {
  canonicalJson,
  compareUtf8,
  encodeDocument,
  normaliseDocument,
  ReplicaDocument,
  type buntingSyncV1,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import { LargeDocuments } from "@bunting/proxy/internal/source/large-documents.js";
import { RecordingSink } from "@bunting/proxy/internal/source/source.fixture.js";
import { UpstreamTopic } from "@bunting/proxy/internal/source/upstream/upstream-topic.js";
import { createLogger } from "@bunting/runtime";
import {
  readRequest,
  writeResponse,
  type Request,
} from "@bunting/sync-client/internal/bunting-messages.fixture.js";
import { decodeSyncResponse, TopicReplica, type VersionMessage } from "@bunting/sync-client/messages";
import { expect } from "chai";
import fc from "fast-check";
import { ManualClock } from "../support/manual-clock.js";

const topic = "team-a/checkout";

/** A client of bunting.sync.v1, as far as one topic goes. */
interface Client {
  readonly name: string;
  take(message: VersionMessage, number: number): Buffer;
  /** The document in use, as canonical JSON; undefined without one. */
  text(): string | undefined;
}

function agent(): Client {
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const store = new FlagStore({
    sources: [{ uri: "proxy" }],
    budget: new HeapBudget(64 * 1024 * 1024),
    context: { logger, metrics: noStoreMetrics },
  });
  const document = new TopicDocument(0, {
    currentDocument: (index) => store.currentDocument(index),
    confirm: (index, version) => store.confirm(index, version),
    deliver: ({ sourceIndex, bytes, version }) => {
      try {
        return store.replace(sourceIndex, bytes, version);
      } catch (error) {
        return { refusal: (error as Error).message };
      }
    },
  });
  const replica = new TopicReplica(topic, document);
  return {
    name: "agent",
    take: (message, number) => replica.take(message, number).answer,
    text: () => store.currentDocument(0)?.layout.bytes.toString(),
  };
}

function tier(): Client {
  const sink = new RecordingSink();
  const room = { has: () => true, freeBytes: 1_000_000_000 };
  const upstream = new UpstreamTopic(topic, sink, new ManualClock(), { room, large: new LargeDocuments() });
  return {
    name: "tier",
    take: (message, number) => upstream.take(message, number) ?? Buffer.alloc(0),
    text: () => sink.lastText,
  };
}

function command(): Client {
  const copy = new TopicCopy();
  const replica = new TopicReplica(topic, copy);
  return {
    name: "command",
    take: (message, number) => replica.take(message, number).answer,
    text: () => copy.current && encodeDocument(copy.current.served),
  };
}

/** A step of a script. Numbers choose among the versions; `isWrong` breaks what the message promises. */
interface Step {
  readonly kind: VersionMessage["kind"];
  readonly from: number;
  readonly to: number;
  readonly isWrong: boolean;
}

const key = fc.constantFrom("a", "b", "B", "10", "9", "__proto__", "é", "\u{1f6a9}", "\uffee");
const flag = fc.record({
  state: fc.constantFrom("ENABLED", "DISABLED"),
  variants: fc.dictionary(fc.constantFrom("on", "off"), fc.integer()),
});
const anyDocument: fc.Arbitrary<FlagDocument> = fc
  .record(
    {
      flags: fc
        .array(fc.tuple(key, flag), { maxLength: 6 })
        .map((entries) => Object.fromEntries(entries) as JsonObject),
      metadata: fc.dictionary(key, fc.oneof(fc.string(), fc.boolean())),
      $evaluators: fc.dictionary(key, fc.jsonValue({ maxDepth: 2 })),
    },
    { requiredKeys: ["flags"] },
  )
  .map((value) => normaliseDocument(value as JsonValue).document);
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("unchanged", "snapshot", "delta"),
  from: fc.nat({ max: 3 }),
  to: fc.nat({ max: 3 }),
  isWrong: fc.boolean(),
});

const digestOf = (document: FlagDocument): Buffer =>
  ReplicaDocument.parse(Buffer.from(encodeDocument(document))).digest();

/** Through the generated code and the decoder, as from a server. */
function messageOf({ kind, isWrong }: Step, from: FlagDocument, to: FlagDocument): VersionMessage {
  const digest = isWrong ? Buffer.alloc(32, 7) : digestOf(to);
  const version = { uid: "one", generation: "1", resourceVersion: "5", digest };
  const text = isWrong ? '{"flags":{' : encodeDocument(to);
  const bytes = {
    unchanged: () => writeResponse({ unchanged: { topic, version } }),
    snapshot: () => writeResponse({ snapshot: { topic, version, document: Buffer.from(text) } }),
    delta: () =>
      writeResponse({ delta: { topic, fromDigest: digestOf(from), version, ...changes(from, to) } }),
  }[kind]();
  return decodeSyncResponse(bytes) as VersionMessage;
}

function changes(
  from: FlagDocument,
  to: FlagDocument,
): Pick<buntingSyncV1.Delta, "flags" | "metadata" | "evaluators"> {
  const textOf = (value: JsonValue | undefined): string => (value === undefined ? "" : canonicalJson(value));
  const own = ({ flags }: FlagDocument, name: string): JsonValue | undefined =>
    Object.hasOwn(flags, name) ? flags[name] : undefined;
  const part = (name: "metadata" | "$evaluators"): Buffer | undefined =>
    textOf(from[name]) === textOf(to[name]) ? undefined : Buffer.from(textOf(to[name]));
  const names = [...new Set([...Object.keys(from.flags), ...Object.keys(to.flags)])].sort(compareUtf8);
  return {
    flags: names
      .filter((name) => textOf(own(from, name)) !== textOf(own(to, name)))
      .map((name) => ({ key: name, flag: Buffer.from(textOf(own(to, name))) })),
    metadata: part("metadata"),
    evaluators: part("$evaluators"),
  };
}

describe("clients of bunting.sync.v1", () => {
  it("hold the same document after any script of messages, and give the same answers", () => {
    fc.assert(
      fc.property(
        fc.array(anyDocument, { minLength: 4, maxLength: 4 }),
        fc.array(step, { maxLength: 12 }),
        (versions, steps) => {
          const clients = [agent(), tier(), command()];
          const at = (index: number): FlagDocument => versions[index] ?? { flags: {} };
          let held: FlagDocument | undefined;
          for (const [index, one] of steps.entries()) {
            const { kind, from, to, isWrong } = one;
            const message = messageOf(one, at(from), at(to));
            const heldText = held && encodeDocument(held);
            const fits = {
              unchanged: heldText === encodeDocument(at(to)),
              snapshot: true,
              delta: heldText === encodeDocument(at(from)),
            }[kind];
            const isTaken = fits && !isWrong;
            if (isTaken) held = at(to);
            for (const client of clients) {
              const request = readRequest(client.take(message, index + 1));
              const answer = isTaken ? "ack" : kind === "snapshot" ? "refusal" : "mismatch";
              expect(answerOf(request), `${client.name}: ${kind}`).to.equal(answer);
              const number = (request.ack ?? request.nack)?.number;
              expect(number, client.name).to.equal(String(index + 1));
              const digest = request.ack?.digest ?? request.nack?.heldDigest;
              expect(digest, client.name).to.deep.equal(
                held === undefined ? Buffer.alloc(0) : digestOf(held),
              );
              expect(client.text(), client.name).to.equal(held && encodeDocument(held));
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

function answerOf({ ack, nack }: Request): "ack" | "refusal" | "mismatch" | undefined {
  if (ack !== undefined) return "ack";
  return nack && (nack.isDeltaMismatch ? "mismatch" : "refusal");
}
