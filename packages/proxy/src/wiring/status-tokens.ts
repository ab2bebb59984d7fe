import type { CallerTokens } from "@bunting/server";
import type { ProxyWiring } from "./proxy-wiring.js";

/** The tokens of --status-token-file; undefined without it. */
export function statusTokens({ options, parts, context }: ProxyWiring): CallerTokens | undefined {
  const { statusTokenFile: path } = options;
  if (path === "") return undefined;
  return new parts.CallerTokens({
    path,
    optionName: "--status-token-file",
    // The Secret may be made after the Pod: what the proxy is for does not wait for it.
    mayBeAbsent: true,
    context,
  });
}
