/**
 * How far a stream of bunting.sync.v1 has got. Requests wait while its agent is `arriving`, not authenticated yet; the first is hello:
 *
 *     arriving ──admit──> admitted ──hello──> serving          each ──end──> ended
 */
export type StreamStage = "arriving" | "admitted" | "serving" | "ended";

/** `hello` and `request`, which is any other, are handled then, and not when they arrive. */
export type StageEvent = "admit" | "hello" | "request" | "end";

const stages: Readonly<Record<StreamStage, Readonly<Record<StageEvent, StreamStage | "violation">>>> = {
  arriving: { admit: "admitted", hello: "arriving", request: "arriving", end: "ended" },
  admitted: { admit: "admitted", hello: "serving", request: "violation", end: "ended" },
  serving: { admit: "serving", hello: "violation", request: "serving", end: "ended" },
  ended: { admit: "ended", hello: "ended", request: "ended", end: "ended" },
};

/** The stage after an event; `violation` if the protocol forbids the request there. */
export function nextStage(stage: StreamStage, event: StageEvent): StreamStage | "violation" {
  return stages[stage][event];
}

/** Whether a message is being written: one is at a time, and none after the end. */
export type WriterState = "idle" | "writing" | "closed";

/** What a stream writes next. One that drains ends once no topic is behind. */
export function nextWrite(
  state: WriterState,
  owesNotice: boolean,
  owesError: boolean,
  topics: { readonly hasDue: boolean; readonly isBehind: boolean },
  isDraining: boolean,
): "nothing" | "notice" | "error" | "topic" | "end" {
  if (state !== "idle") return "nothing";
  if (owesNotice) return "notice";
  if (owesError) return "error";
  if (topics.hasDue) return "topic";
  return isDraining && !topics.isBehind ? "end" : "nothing";
}
