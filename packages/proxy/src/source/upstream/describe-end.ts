import { connectionAdvice, type CallEnd } from "@bunting/sync-client";

/** A sentence about the end of an upstream's stream, with advice if there is any. */
export function describeEnd(
  target: string,
  { reason, message }: Pick<CallEnd, "reason" | "message">,
): string {
  const advice = adviceOf[reason] ?? connectionAdvice(message, "--upstream-ca-file");
  return `lost or can't reach the proxy ${target}: ${message}${advice === undefined ? "" : ` (${advice})`}`;
}

const adviceOf: Readonly<Record<string, string>> = {
  unimplemented: "it does not speak bunting.sync.v1: is it a Bunting proxy?",
  unauthenticated: "it asks who this proxy is: set --upstream-token-file, or a client certificate",
  permission_denied: "it does not let this proxy read",
};
