import type { StaleCause } from "@bunting/sync-client/messages";

/** What kind of thing keeps a source from delivering: who is to look at what. `invalid` is what was delivered and can't be used. */
export type SourceCause = StaleCause;

/** Of the reasons of failures; all others mean that the source can't be reached. */
const causes: Readonly<Partial<Record<string, SourceCause>>> = {
  // Statuses of gRPC and HTTP, codes of the API server, and credentials that can't be had.
  unauthenticated: "refused",
  permission_denied: "refused",
  unauthorized: "refused",
  forbidden: "refused",
  token: "refused",
  oauth: "refused",
  access_token: "refused",
  credentials: "refused",
  unreadable: "refused",
  // A selector, an address, a provider or a path of something else.
  invalid_argument: "misconfigured",
  unimplemented: "misconfigured",
  not_grpc: "misconfigured",
  not_found: "misconfigured",
  certificate: "misconfigured",
  config_invalid: "misconfigured",
  missing: "misconfigured",
  redirect: "misconfigured",
  unsupported: "misconfigured",
  // Documents, or messages with them.
  malformed: "invalid",
  too_large: "invalid",
  empty: "invalid",
  encoding: "invalid",
  refused: "invalid",
};

export function causeOf(reason: string): SourceCause {
  return causes[reason.toLowerCase()] ?? "unreachable";
}

/** For a source that has delivered nothing yet. */
export const withoutFlags: Readonly<Record<SourceCause, string>> = {
  unreachable: "the source is unreachable; retrying",
  refused: "the source refuses this agent, or its credentials can't be read; retrying",
  misconfigured: "the source has nothing of the kind that this agent is configured to ask for; retrying",
  invalid: "what the source delivers can't be used; retrying",
};

/** For one whose flags are served. */
export const withLastFlags: Readonly<Record<SourceCause, string>> = {
  unreachable:
    "lost the connection to the source; its last flags are still served while the agent reconnects",
  refused:
    "the source refuses this agent now, or its credentials can't be read; its last flags are still served while the agent tries again",
  misconfigured:
    "the source has nothing any more of the kind that this agent asks for; its last flags are still served while the agent tries again",
  invalid:
    "what the source delivers now can't be used; its last flags are still served while the agent tries again",
};

/** What a proxy says of its own source. */
export const ofProxy: Readonly<Record<SourceCause, string>> = {
  unreachable: "the proxy can't reach where the flags come from",
  refused: "the proxy is refused where the flags come from",
  misconfigured: "the proxy finds nothing of the kind where the flags should come from",
  invalid: "the proxy refuses the newest version",
};
