import { statusName } from "@bunting/sync-client";
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

/** Of what the upstream says about its own source, so that the tiers below name the same cause. */
export function codeOfCause(cause: StaleCause | undefined): SourceErrorCode {
  return byCause[cause ?? "unreachable"];
}

/** Of the gRPC status with which the upstream refuses a topic. */
export function codeOfStatus(code: number): SourceErrorCode {
  return codeOfEnd(statusName(code));
}

/** Of the reason for which a stream of an upstream ended. */
export function codeOfEnd(reason: string): SourceErrorCode {
  return byCause[causeOf(reason)];
}
