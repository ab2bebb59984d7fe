import type { VersionFrame } from "../snapshot/topic-frames.js";
import type { Subscription } from "../topic/subscription.js";
import type { Tombstone } from "../topic/tombstone.js";
import { documentOf } from "../topic/topic-view.js";
import type { VersionAnswer } from "./agent-request.js";
import type { HeldBack } from "./resume-guard.js";

/**
 * How far the versions of a topic have got on the way to an agent. One at a time is on its way, until the agent answers:
 *
 *     closed ──open──> new ──start────────────────> idle ──send──> unanswered
 *                       └──queue──> queued ──start──^  ^──ack, nack, mismatch, timeout──┘
 *
 * This file decides what comes next, and does nothing: TopicSubscriber does.
 */
export type DeliveryState = "closed" | "new" | "queued" | "idle" | "unanswered";

export interface TopicDelivery {
  state: DeliveryState;
  /** The version message sent last: its number on the stream, its kind, and the digest that it leads to. */
  number: number;
  kind: VersionFrame["kind"];
  digest: string;
  /** Digest of the version that the agent refused; empty if none. It is never sent again; the next version is. */
  refused: string;
  /** The last tombstone sent, until there is a document again, which is then sent even if the agent had it before. */
  announced: Tombstone | undefined;
}

/**
 * What happens to a delivery. `queue` and `start`: the first snapshot waits for its turn, or needs not wait any more. `mismatch`: a delta did
 * not lead to its digest. `revise`: a second ack of the version that the agent has. `clear`: a tombstone has the agent drop its flags. `return`: there is a document again.
 */
export type DeliveryEvent =
  | "open"
  | "queue"
  | "start"
  | "send"
  | "ack"
  | "nack"
  | "mismatch"
  | "revise"
  | "timeout"
  | "clear"
  | "return"
  | "close";

/** What an event does. What is absent stays as it is. */
export interface Transition {
  readonly from: readonly DeliveryState[];
  readonly to?: DeliveryState;
  /**
   * The version that the agent has now. `sent`: that of the message, whose digest all agents share. `named`: the one that its answer names.
   * `lost`: none that is known.
   */
  readonly held?: "sent" | "named" | "none" | "lost";
  readonly refused?: "sent" | "none";
  /** Whether the newest version is due once more, or due no more. */
  readonly cursor?: "back" | "skip";
  /** What the agent is counted to refuse. `named`: what its answer names. */
  readonly rejections?: "named" | "none";
}

const open: readonly DeliveryState[] = ["new", "queued", "idle"];

const transitions: Readonly<Record<DeliveryEvent, Transition>> = {
  open: { from: ["closed"], to: "new" },
  queue: { from: ["new"], to: "queued" },
  start: { from: ["new", "queued"], to: "idle" },
  send: { from: ["idle"], to: "unanswered" },
  ack: { from: ["unanswered"], to: "idle", held: "sent", refused: "none", rejections: "named" },
  nack: { from: ["unanswered"], to: "idle", held: "named", refused: "sent", rejections: "named" },
  mismatch: { from: ["unanswered"], to: "idle", held: "none", cursor: "back" },
  revise: { from: ["idle"], rejections: "named" },
  timeout: { from: ["unanswered"], to: "idle", held: "lost", refused: "none", cursor: "back" },
  clear: { from: open, held: "none", refused: "none", cursor: "skip", rejections: "none" },
  return: { from: open, cursor: "back" },
  close: { from: [...open, "unanswered"], to: "closed", held: "none", rejections: "none" },
};

/** Undefined if the event means nothing in this state, such as an answer that comes twice. */
export function next(state: DeliveryState, event: DeliveryEvent): Transition | undefined {
  const transition = transitions[event];
  return transition.from.includes(state) ? transition : undefined;
}

/**
 * The event that an agent's answer is: `late` if the message is not unanswered any more, but for a second ack of the last one, which revises the first;
 * `wrong` if it fits none that was sent.
 *
 * @param digest the digest in the answer
 * @param lastNumber of the last message of the stream
 */
export function eventOf(
  { state, number, kind, digest: sent }: Readonly<TopicDelivery>,
  { $case, value }: VersionAnswer,
  digest: string,
  lastNumber: number,
): "ack" | "nack" | "mismatch" | "revise" | "late" | "wrong" {
  const answered = Number(value.number);
  if (answered < 1 || answered > lastNumber) return "wrong";
  if (state === "idle" && answered === number && $case === "ack" && digest === sent) return "revise";
  if (state !== "unanswered" || answered !== number) return "late";
  if ($case === "ack") return digest === sent ? "ack" : "wrong";
  // A snapshot can't mismatch: to send it again would never end.
  return value.isDeltaMismatch && kind !== "snapshot" ? "mismatch" : "nack";
}

/** What is to be done next: a message to send, or an effect (`return`, `start`, `settle`), after which to ask again. */
export type DeliveryStep = "nothing" | "return" | "start" | "version" | "settle" | "tombstone" | "freshness";

/** Tombstones and freshness need no answer, but wait for one: an ack that arrives after a tombstone would claim what the agent has dropped. */
export function nextDelivery(
  { state, refused, announced }: Readonly<TopicDelivery>,
  subscription: Pick<Subscription, "view" | "due" | "hasSettled">,
  heldBack: HeldBack,
): DeliveryStep {
  if (state === "closed" || state === "unanswered") return "nothing";
  if (heldBack === "all") return "freshness";
  const { tombstone } = subscription.view;
  const document = documentOf(subscription.view);
  if (document !== undefined && tombstone === undefined && announced !== undefined) return "return";
  if (document !== undefined && heldBack === "nothing") {
    if (state === "new") return "start";
    if (state === "queued") return "freshness";
    const isRefused = document.digest === refused;
    if (!isRefused && subscription.due !== undefined) return "version";
    if (!isRefused && !subscription.hasSettled(document.sequence)) return "settle";
  }
  return tombstone === undefined || tombstone === announced ? "freshness" : "tombstone";
}
