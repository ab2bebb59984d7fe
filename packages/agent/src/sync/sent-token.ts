import { plaintextWarning, tokenBindingOf } from "./grpc-credentials.js";
import type { SourceContext } from "./grpc-config.js";
import type { HttpSourceConfig } from "./source-config.js";
import type { SourceFields } from "./source-fields.js";

/**
 * The token of a file that a source sends: over TLS only, unless an option, or whoever owns the token, says otherwise.
 *
 * @param remedy how the source gets TLS, for the warning
 * @throws AgentError OPTION_INVALID
 */
export function sentToken(
  { tokenFile, tokenHostsFile }: SourceFields,
  { url, remedy }: { readonly url: string; readonly remedy: string },
  { credentials, warn, where }: SourceContext,
): Pick<HttpSourceConfig, "tokenFile" | "tokenBinding"> {
  const { protocol, host } = new URL(url);
  const isTls = protocol === "https:" || protocol === "grpcs:";
  const server = `${isTls ? "https" : "http"}://${host}`;
  const tokenBinding = tokenBindingOf({ tokenFile, tokenHostsFile }, server, where);
  const isSent = isTls || credentials.tokenOverPlaintext || tokenBinding !== undefined;
  if (tokenFile === "" || isSent) return { tokenFile, tokenBinding };
  warn(plaintextWarning(tokenFile, remedy));
  return { tokenFile: "", tokenBinding };
}
