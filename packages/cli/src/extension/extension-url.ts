import { quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";

/**
 * The address of an extension.
 *
 * @throws CliError USAGE_INVALID for what is none, and for one to which a token would be sent in the clear
 */
export function extensionUrl(text: string, hasToken = false): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol))
    throw CliError.usageInvalid(`${quoted(text)} is no address of an extension: write http://localhost:8080`);
  if (url.username !== "" || url.password !== "")
    throw CliError.usageInvalid(
      "the address has a name or a password: an extension gets a token, by --token-file",
    );
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (hasToken && url.protocol === "http:" && !isLocal)
    throw CliError.usageInvalid(
      `a token is sent over TLS or to this machine only: write https://${url.host}`,
    );
  return url;
}
