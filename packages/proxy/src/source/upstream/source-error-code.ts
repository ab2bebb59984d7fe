import { statusCode } from "@bunting/rpc";
import type { StaleCause } from "@bunting/sync-client/messages";
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
  switch (code) {
    case statusCode.UNAUTHENTICATED:
    case statusCode.PERMISSION_DENIED:
      return "SOURCE_REFUSED";
    case statusCode.INVALID_ARGUMENT:
    case statusCode.UNIMPLEMENTED:
      return "SOURCE_MISCONFIGURED";
    default:
      return "SOURCE_UNREADABLE";
  }
}

/** Of the reason for which a stream of an upstream ended. */
export function codeOfEnd(reason: string): SourceErrorCode {
  const code = statusCode[reason.toUpperCase() as keyof typeof statusCode] as number | undefined;
  return code === undefined ? "SOURCE_UNREADABLE" : codeOfStatus(code);
}
