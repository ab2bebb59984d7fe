import { statusCode, type RpcStatus } from "@bunting/rpc";
import { frameResponse } from "../snapshot/topic-frames.js";
import type { SourceFlags } from "../source/flag-source.js";
import type { AgentMessageKind } from "./subscriber-metrics.js";

/** A message of bunting.sync.v1: a complete gRPC frame. */
export interface AgentMessage {
  readonly kind: AgentMessageKind;
  readonly frame: Uint8Array;
}

export const heartbeatMessage: AgentMessage = {
  kind: "heartbeat",
  frame: frameResponse({ $case: "heartbeat", value: {} }),
};

/** For another proxy: the proxies that the flags come through. */
export function tierMessage(tier: {
  readonly proxies: readonly string[];
  readonly depth: number;
}): AgentMessage {
  const value = { proxies: [...tier.proxies], depth: tier.depth };
  return { kind: "tier", frame: frameResponse({ $case: "tier", value }) };
}

export function sourceFlagsMessage({ topics, frame }: SourceFlags): AgentMessage {
  const value = { topics: [...topics], frame };
  return { kind: "source_flags", frame: frameResponse({ $case: "sourceFlags", value }) };
}

/** The subscription of a topic was refused, or has ended. */
export function topicErrorMessage(topic: string, { code, message, trailers }: RpcStatus): AgentMessage {
  const retryAfterMs = Number(trailers?.["grpc-retry-pushback-ms"] ?? 0);
  const value = { topic, code: statusCode[code], message, retryAfterMs };
  return { kind: "topic_error", frame: frameResponse({ $case: "topicError", value }) };
}
