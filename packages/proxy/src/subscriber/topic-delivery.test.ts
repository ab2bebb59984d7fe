import { expect } from "chai";
import { encodeSnapshot } from "../snapshot/encode-snapshot.js";
import { Snapshot } from "../snapshot/snapshot.js";
import { Tombstone, type DeletionPolicy } from "../topic/tombstone.js";
import { startingView, type TopicView } from "../topic/topic-view.js";
import type { VersionAnswer } from "./agent-request.js";
import type { HeldBack } from "./resume-guard.js";
import {
  eventOf,
  next,
  nextDelivery,
  type TopicDelivery,
  type DeliveryEvent,
  type DeliveryState,
  type DeliveryStep,
} from "./topic-delivery.js";

const topic = "demo/flags";
const states: readonly DeliveryState[] = ["closed", "new", "queued", "idle", "unanswered"];

function delivery(changes: Partial<TopicDelivery>): TopicDelivery {
  const nothing = { number: 0, kind: "snapshot", digest: "", refused: "", announced: undefined } as const;
  return { state: "idle", ...nothing, ...changes };
}

describe("the delivery of a topic", () => {
  /** The state after each event, by the state before: the same one in parentheses; a dash where it means nothing. */
  const after: Readonly<Record<DeliveryEvent, string>> = {
    //          closed   new      queued    idle        unanswered
    open: "     new      -        -         -           -        ",
    queue: "    -        queued   -         -           -        ",
    start: "    -        idle     idle      -           -        ",
    send: "     -        -        -         unanswered  -        ",
    ack: "      -        -        -         -           idle     ",
    nack: "     -        -        -         -           idle     ",
    mismatch: " -        -        -         -           idle     ",
    revise: "   -        -        -         (idle)      -        ",
    timeout: "  -        -        -         -           idle     ",
    clear: "    -        (new)    (queued)  (idle)      -        ",
    return: "   -        (new)    (queued)  (idle)      -        ",
    close: "    -        closed   closed    closed      closed   ",
  };
  const effects: Readonly<Record<DeliveryEvent, string>> = {
    open: "",
    queue: "",
    start: "",
    send: "",
    ack: "held: sent, refused: none, rejections: named",
    nack: "held: named, refused: sent, rejections: named",
    mismatch: "held: none, cursor: back",
    revise: "rejections: named",
    timeout: "held: lost, refused: none, cursor: back",
    clear: "held: none, refused: none, cursor: skip, rejections: none",
    return: "cursor: back",
    close: "held: none, rejections: none",
  };

  for (const event of Object.keys(after) as DeliveryEvent[]) {
    it(`goes on by ${event} from the states where that means something, and does what it says`, () => {
      const reached = states.map((state) => {
        const transition = next(state, event);
        if (transition === undefined) return "-";
        const { held, refused, cursor, rejections } = transition;
        const done = Object.entries({ held, refused, cursor, rejections }).flatMap(([what, how]) =>
          how === undefined ? [] : [`${what}: ${how}`],
        );
        expect(done.join(", ")).to.equal(effects[event]);
        return transition.to ?? `(${state})`;
      });
      expect(reached).to.deep.equal(after[event].trim().split(/ +/));
    });
  }
});

describe("an agent's answer", () => {
  const unanswered = { state: "unanswered", number: 5, kind: "delta", digest: "aa" } as const;

  function answer(kind: "ack" | "nack" | "mismatch", number: number): VersionAnswer {
    const common = { topic, number: String(number) };
    if (kind === "ack")
      return { $case: "ack", value: { ...common, digest: Buffer.alloc(0), rejectedFlags: [] } };
    const isDeltaMismatch = kind === "mismatch";
    return { $case: "nack", value: { ...common, heldDigest: Buffer.alloc(0), reason: "", isDeltaMismatch } };
  }

  const rows: readonly [
    what: string,
    changes: Partial<TopicDelivery>,
    kind: "ack" | "nack" | "mismatch",
    number: number,
    digest: string,
    event: ReturnType<typeof eventOf>,
  ][] = [
    ["to what is unanswered is an ack", {}, "ack", 5, "aa", "ack"],
    ["with another digest is wrong", {}, "ack", 5, "bb", "wrong"],
    ["that refuses is a nack, whatever it holds", {}, "nack", 5, "bb", "nack"],
    ["of a mismatch of a delta is one", {}, "mismatch", 5, "", "mismatch"],
    [
      "of a mismatch of what should be unchanged is one",
      { kind: "unchanged" },
      "mismatch",
      5,
      "",
      "mismatch",
    ],
    ["of a mismatch of a snapshot refuses it", { kind: "snapshot" }, "mismatch", 5, "", "nack"],
    ["to an earlier message is late, whatever it holds", {}, "ack", 4, "bb", "late"],
    ["to a later message, of another topic, is late", {}, "nack", 7, "aa", "late"],
    ["that is an ack once more revises the first", { state: "idle" }, "ack", 5, "aa", "revise"],
    ["that refuses what it has accepted is late", { state: "idle" }, "nack", 5, "aa", "late"],
    ["to what was sent again since is late", { state: "new" }, "ack", 5, "aa", "late"],
    ["with a digest of its own that comes twice is late", { state: "idle" }, "ack", 5, "bb", "late"],
    ["to the number 0 is wrong", { state: "idle", number: 0 }, "ack", 0, "aa", "wrong"],
    ["to a message that was not sent yet is wrong", {}, "nack", 8, "aa", "wrong"],
  ];
  for (const [what, changes, kind, number, digest, event] of rows) {
    it(what, () => {
      const sent = delivery({ ...unanswered, ...changes });
      expect(eventOf(sent, answer(kind, number), digest, 7)).to.equal(event);
    });
  }
});

describe("the next step of a delivery", () => {
  const snapshot = new Snapshot({
    topic,
    sequence: 3,
    version: { noticedMs: 0 },
    publishedMs: 0,
    bytes: encodeSnapshot({ flags: {} }),
  });
  const tombstone = (policy: DeletionPolicy | undefined): Tombstone => new Tombstone(topic, policy);
  const [missing, kept, emptied] = [tombstone(undefined), tombstone("keep"), tombstone("empty")];
  const live: TopicView = { kind: "live", snapshot, tombstone: undefined };
  const inGrace: TopicView = { kind: "deleted", snapshot, tombstone: undefined };
  const isMissing: TopicView = { kind: "missing", snapshot: undefined, tombstone: missing };
  const isKept: TopicView = { kind: "deleted", snapshot, tombstone: kept };
  const isEmptied: TopicView = { kind: "deleted", snapshot, tombstone: emptied };

  const rows: readonly [
    what: string,
    step: DeliveryStep,
    view: TopicView,
    changes?: Partial<TopicDelivery> & { isTaken?: boolean; isSettled?: boolean; heldBack?: HeldBack },
  ][] = [
    ["is none before the subscription, nor after it", "nothing", live, { state: "closed" }],
    ["is none for a version while another is unanswered", "nothing", live, { state: "unanswered" }],
    ["is none for a tombstone while a version is unanswered", "nothing", isMissing, { state: "unanswered" }],
    ["tells of the source before there is anything", "freshness", startingView, { state: "new" }],
    ["asks for a turn for the first document", "start", live, { state: "new" }],
    ["leaves the document while it waits for its turn", "freshness", live, { state: "queued" }],
    ["leaves the tombstone behind a document that waits", "freshness", isKept, { state: "queued" }],
    ["needs no turn for a tombstone", "tombstone", isMissing, { state: "new" }],
    ["sends a tombstone to one that waits for its turn", "tombstone", isMissing, { state: "queued" }],
    ["sends what is due", "version", live],
    ["sends what is due after a deletion, during its grace", "version", inGrace],
    ["settles when nothing is due", "settle", live, { isTaken: true }],
    ["is over once all has settled", "freshness", live, { isTaken: true, isSettled: true }],
    ["sends nothing that was refused", "freshness", live, { refused: snapshot.digest }],
    ["does not settle at what was refused", "freshness", live, { refused: snapshot.digest, isTaken: true }],
    [
      "sends the tombstone behind a document that was refused",
      "tombstone",
      isKept,
      { refused: snapshot.digest },
    ],
    ["sends the kept document before the tombstone", "version", isKept],
    ["settles before the tombstone", "settle", isKept, { isTaken: true }],
    ["sends the tombstone behind the kept document", "tombstone", isKept, { isTaken: true, isSettled: true }],
    ["sends no document to be emptied", "tombstone", isEmptied],
    ["sends a tombstone once", "freshness", isMissing, { announced: missing }],
    ["sends the tombstone of another deletion", "tombstone", isEmptied, { announced: missing }],
    ["does not return while the tombstone holds", "version", isKept, { announced: kept }],
    ["returns to the document that came back", "return", live, { announced: missing }],
    [
      "returns when a deletion is undone, before it waits for a turn",
      "return",
      live,
      { announced: kept, state: "new" },
    ],
    ["returns also for an agent that is ahead", "return", live, { announced: missing, heldBack: "document" }],
    ["holds a document back from an agent that is ahead", "freshness", live, { heldBack: "document" }],
    ["asks for no turn for what is held back", "freshness", live, { heldBack: "document", state: "new" }],
    ["tells an agent that is ahead of a deletion", "tombstone", isKept, { heldBack: "document" }],
    ["holds all back where the deletion may be older", "freshness", isKept, { heldBack: "all" }],
    ["holds the tombstone back, too", "freshness", isEmptied, { heldBack: "all" }],
    ["does not return while all is held back", "freshness", inGrace, { heldBack: "all", announced: kept }],
  ];
  for (const [what, step, view, { isTaken, isSettled, heldBack = "nothing", ...changes } = {}] of rows) {
    it(what, () => {
      const due = isTaken === true ? undefined : view.snapshot;
      const subscription = {
        view,
        due,
        hasSettled: (sequence: number) => isSettled === true && sequence === 3,
      };
      expect(nextDelivery(delivery(changes), subscription, heldBack)).to.equal(step);
    });
  }
});
