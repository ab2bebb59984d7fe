import { buntingSyncV1 } from "@bunting/protocol";
import { RpcError } from "@bunting/rpc";

/** A message of an agent that was checked by `readAgentRequest`. */
export type AgentRequest = NonNullable<buntingSyncV1.SyncRequest["message"]>;
/** What an agent says of a version that it was sent. */
export type VersionAnswer = Extract<AgentRequest, { $case: "ack" | "nack" }>;

const maxRequestBytes = 128 * 1024;
const maxNameBytes = 256;
const maxTopicBytes = 1_024;
const maxTextBytes = 1_024;
const maxListDigestBytes = 64;
const maxReasonBytes = 256;
const maxNackReasonBytes = 1_024;
const maxRejectedFlags = 1_000;
/** Kept length of a rejected flag's key. */
export const maxKeyCharacters = 256;
const digestBytes = [0, 32];
const none = Buffer.alloc(0);

/**
 * Decodes a message of an agent and checks its limits: agents are not trusted, and parts of their messages are kept or logged. Undefined for
 * a message of an unknown kind, which a newer agent may send.
 *
 * @throws RpcError INVALID_ARGUMENT with a message that names the limit.
 */
export function readAgentRequest(bytes: Uint8Array): AgentRequest | undefined {
  atMost(maxRequestBytes, bytes.length, "a message");
  const message = decode(bytes);
  switch (message?.$case) {
    case "hello":
      textAtMost(maxNameBytes, message.value.agent, "agent");
      textAtMost(maxNameBytes, message.value.providerId, "provider_id");
      textAtMost(maxNameBytes, message.value.instance ?? "", "instance");
      textAtMost(maxNameBytes, message.value.sources?.namespace ?? "", "the namespace of sources");
      textAtMost(maxTextBytes, message.value.sources?.text ?? "", "the text of sources");
      textAtMost(maxListDigestBytes, message.value.sources?.digest ?? "", "the digest of sources");
      break;
    case "subscribe":
      textAtMost(maxTopicBytes, message.value.topic, "topic");
      checkVersion(message.value.held);
      checkDigest(message.value.trialDigest ?? none, "trial_digest");
      break;
    case "unsubscribe":
      textAtMost(maxTopicBytes, message.value.topic, "topic");
      break;
    case "ack":
      textAtMost(maxTopicBytes, message.value.topic, "topic");
      checkDigest(message.value.digest, "digest");
      atMost(maxRejectedFlags, message.value.rejectedFlags.length, "rejected_flags", "entries");
      // A key may be as long as in the document; see maxKeyCharacters.
      for (const { reason } of message.value.rejectedFlags)
        textAtMost(maxReasonBytes, reason, "the reason of a rejected flag");
      break;
    case "nack":
      textAtMost(maxTopicBytes, message.value.topic, "topic");
      checkDigest(message.value.heldDigest, "held_digest");
      textAtMost(maxNackReasonBytes, message.value.reason, "reason");
      break;
    case "trialReport":
      checkReport(message.value);
      break;
    case undefined:
  }
  return message;
}

function decode(bytes: Uint8Array): AgentRequest | undefined {
  try {
    return buntingSyncV1.SyncRequest.decode(bytes).message;
  } catch (cause) {
    throw abuse("the message is not a SyncRequest", { cause });
  }
}

function checkReport(report: buntingSyncV1.TrialReport): void {
  const { reach, agents, lowest = 0, wave, current, refusals } = report;
  textAtMost(maxTopicBytes, report.topic, "topic");
  checkDigest(report.digest, "digest");
  textAtMost(maxReasonBytes, report.reason, "the reason of a report");
  if (reach < -1 || [agents, lowest, wave, current, refusals].some((count) => count < 0))
    throw abuse("a report of a trial has a negative number");
}

function checkVersion(version: buntingSyncV1.Version | undefined): void {
  if (version === undefined) return;
  textAtMost(maxNameBytes, version.uid, "uid");
  textAtMost(maxNameBytes, version.resourceVersion, "resource_version");
  checkDigest(version.digest, "digest");
}

function checkDigest(digest: Buffer, what: string): void {
  if (digestBytes.includes(digest.length)) return;
  throw abuse(`${what} has ${digest.length} bytes; SHA-256 has 32`);
}

/** A UTF-16 unit takes at most three bytes of UTF-8, so most texts need not be encoded to be checked. */
function textAtMost(max: number, text: string, what: string): void {
  if (text.length * 3 > max) atMost(max, Buffer.byteLength(text), what);
}

function atMost(max: number, count: number, what: string, unit = "bytes"): void {
  if (count <= max) return;
  throw abuse(`${what} has ${count} ${unit}; at most ${max} are allowed`);
}

/** The error that ends the stream of an agent that violates the protocol. */
export function abuse(message: string, options?: ErrorOptions): RpcError {
  return new RpcError("INVALID_ARGUMENT", message, options);
}
