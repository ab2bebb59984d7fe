import type { History, SyncResponse } from "@bunting/sync-client/messages";

/** A message about one topic. */
export type TopicMessage = Exclude<SyncResponse, { readonly kind: "tier" | "heartbeat" | "unknown" }>;

export function isOfTopic(message: SyncResponse): message is TopicMessage {
  return "topic" in message;
}

/** True for messages that answer a subscription. History messages do not: they precede an answer. */
export function isAnswer(message: SyncResponse): message is Exclude<TopicMessage, History> {
  return isOfTopic(message) && message.kind !== "history";
}
