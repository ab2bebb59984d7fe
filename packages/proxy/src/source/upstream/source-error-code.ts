import { statusCode } from "@bunting/rpc";
import { causeOf, type StaleCause } from "@bunting/sync-client/messages";
import type { ProxyErrorCode } from "../../proxy-error.js";

/** Why an upstream's topic can't be followed. */
export type SourceErrorCode = Extract<
  ProxyErrorCode,
  "SOURCE_UNREADABLE" | "SOURCE_REFUSED" | "SOURCE_MISCONFIGURED" | "DOCUMENT_INVALID"
>;

const byCause: Readonly<Record<StaleCause, SourceErrorCode>> = {
  unreachable: "SOURCE_UNREADABLE",
  refused: "SOURCE_REFUSED",
  misconfigured: "SOURCE_MISCONFIGURED",
  invalid: "DOCUMENT_INVALID",
};

/** Names of gRPC statuses by number; those of sync-client would load its gRPC client. */
const statusNames = new Map<number, string>(Object.entries(statusCode).map(([name, code]) => [code, name]));

/** Of what the upstream says about its own source, so that the tiers below name the same cause. */
export function codeOfCause(cause: StaleCause | undefined): SourceErrorCode {
  return byCause[cause ?? "unreachable"];
}

/** Of the gRPC status with which the upstream refuses a topic. */
export function codeOfStatus(code: number): SourceErrorCode {
  return codeOfEnd(statusNames.get(code) ?? "UNKNOWN");
}

/** Of the reason for which a stream of an upstream ended. */
export function codeOfEnd(reason: string): SourceErrorCode {
  return byCause[causeOf(reason)];
}
