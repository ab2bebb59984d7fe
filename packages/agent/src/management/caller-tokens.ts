import type { Component, Context } from "@bunting/runtime";
import { CallerTokens, type Callers } from "@bunting/server";
import { AgentError } from "../agent-error.js";
import type { ApiMetrics } from "../api/api-metrics.js";
import type { AgentOptions } from "../options.js";

/** The check of `--auth-token-file`, if it is set, and what runs it. */
export function callerTokens(
  { authTokenFile: path }: Pick<AgentOptions, "authTokenFile">,
  { metrics, ...context }: Context<Pick<ApiMetrics, "unadmitted">>,
): { readonly callers: Callers | undefined; readonly components: readonly Component[] } {
  if (path === "") return { callers: undefined, components: [] };
  const callers = new CallerTokens({
    path,
    optionName: "--auth-token-file",
    onRefused: (reason) => metrics.unadmitted(reason),
    context,
  });
  const { component } = callers;
  const start: Component["start"] = async (...args) => {
    try {
      await component.start(...args);
    } catch (cause) {
      throw AgentError.optionInvalid((cause as Error).message, { cause });
    }
  };
  return { callers, components: [{ ...component, start }] };
}
