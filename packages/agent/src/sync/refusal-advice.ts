import { connectionAdvice } from "@bunting/sync-client";
import type { GrpcSourceConfig } from "./source-config.js";

/**
 * What to do if a server can't be reached or serves no flags, or if a proxy does not accept who the agent is, or does not let it read its
 * FeatureFlag; undefined for other reasons.
 *
 * @param message of the gRPC client
 */
export function refusalAdvice(
  { tokenFile, headers, isTls }: GrpcSourceConfig,
  reason: string,
  message = "",
): string | undefined {
  if (reason === "permission_denied")
    return "the server does not let the agent read this: see its --authorize, and the annotation bunting.dev/readers of the FeatureFlag";
  if (reason === "unimplemented") return "is this the sync port of a proxy or of flagd, 8015 by default?";
  if (reason !== "unauthenticated")
    return connectionAdvice(message, '"certPath" of the source, or --ca-file');
  if (tokenFile !== "")
    return `${tokenFile} must have a token that the server accepts: is its audience that of the server, and is it renewed before it expires?`;
  if (headers["authorization"] !== undefined)
    return "is the token of the source the right one, and still valid?";
  const plaintext = isTls ? "" : ', and "tls" or --ca-file, because tokens are not sent in plaintext';
  return `the agent has sent no token: set --token-file, or "tokenFile" of the source${plaintext}`;
}
