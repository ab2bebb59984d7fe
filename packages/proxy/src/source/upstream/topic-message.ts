import type { History, SyncResponse, TrialMessage } from "@bunting/sync-client/messages";

export type TopicMessage = Exclude<
  SyncResponse,
  { readonly kind: "tier" | "heartbeat" | "source_flags" | "unknown" }
>;

export function isOfTopic(message: SyncResponse): message is TopicMessage {
  return "topic" in message;
}

/** True for messages that answer a subscription. Those of history and of trials do not: they come beside an answer. */
export function isAnswer(message: SyncResponse): message is Exclude<TopicMessage, History | TrialMessage> {
  return isOfTopic(message) && message.kind !== "history" && message.kind !== "trial";
}
