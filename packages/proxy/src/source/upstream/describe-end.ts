import { connectionAdvice, type CallEnd } from "@bunting/sync-client";
import type { UpstreamCredentials } from "./upstream-config.js";

/** A sentence about the end of an upstream's stream, with advice if there is any. */
export function describeEnd(
  target: string,
  { reason, message }: Pick<CallEnd, "reason" | "message">,
  credentials: Pick<UpstreamCredentials, "tokenFile" | "clientCertPath">,
): string {
  const advice =
    reason === "unauthenticated"
      ? refusedAdvice(credentials)
      : (adviceOf[reason] ?? connectionAdvice(message, "--upstream-ca-file"));
  return `lost or can't reach the proxy ${target}: ${message}${advice === undefined ? "" : ` (${advice})`}`;
}

const adviceOf: Readonly<Record<string, string>> = {
  unimplemented: "it does not speak bunting.sync.v1: is it a Bunting proxy?",
  permission_denied: "it does not let this proxy read",
};

function refusedAdvice({ tokenFile, clientCertPath }: Parameters<typeof describeEnd>[2]): string {
  if (tokenFile !== "")
    return `it does not accept the token in ${tokenFile}: is its audience that of the upstream, and is it renewed before it expires?`;
  if (clientCertPath !== "")
    return `it does not accept the certificate in ${clientCertPath}: does it name this proxy?`;
  return "it asks who this proxy is: set --upstream-token-file, or a client certificate";
}
