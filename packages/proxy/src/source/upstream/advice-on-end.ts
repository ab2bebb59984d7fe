import { connectionAdvice, type CallEnd } from "@bunting/sync-client";
import type { UpstreamCredentials } from "./upstream-config.js";

/** What to do about the end of an upstream's stream, one of a small set of sentences; undefined if its message does not say why. */
export function adviceOnEnd(
  { reason, message }: Pick<CallEnd, "reason" | "message">,
  credentials: Pick<UpstreamCredentials, "tokenFile" | "clientCertPath">,
): string | undefined {
  if (reason === "unauthenticated") return refusedAdvice(credentials);
  return adviceOf[reason] ?? connectionAdvice(message, "--upstream-ca-file");
}

const adviceOf: Readonly<Record<string, string>> = {
  unimplemented: "it does not speak bunting.sync.v1: is it a Bunting proxy?",
  permission_denied: "it does not let this proxy read",
};

function refusedAdvice({ tokenFile, clientCertPath }: Parameters<typeof adviceOnEnd>[1]): string {
  if (tokenFile !== "")
    return `it does not accept the token in ${tokenFile}: is its audience that of the upstream, and is it renewed before it expires?`;
  if (clientCertPath !== "")
    return `it does not accept the certificate in ${clientCertPath}: does it name this proxy?`;
  return "it asks who this proxy is: set --upstream-token-file, or a client certificate";
}
