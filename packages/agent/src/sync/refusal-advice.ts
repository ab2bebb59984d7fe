import type { GrpcSourceConfig } from "./source-config.js";

/** What to do if a proxy does not accept who the agent is, or does not let it read its FeatureFlag; undefined for other reasons. */
export function refusalAdvice(
  { tokenFile, headers, isTls }: GrpcSourceConfig,
  reason: string,
): string | undefined {
  if (reason === "permission_denied")
    return "the server does not let the agent read this: see its --authorize, and the annotation bunting.dev/readers of the FeatureFlag";
  if (reason !== "unauthenticated") return undefined;
  if (tokenFile !== "")
    return `${tokenFile} must have a token that the server accepts: is its audience that of the server, and is it renewed before it expires?`;
  if (headers["authorization"] !== undefined)
    return "is the token of the source the right one, and still valid?";
  const plaintext = isTls ? "" : ', and "tls" or --ca-file, because tokens are not sent in plaintext';
  return `the agent has sent no token: set --token-file, or "tokenFile" of the source${plaintext}`;
}
