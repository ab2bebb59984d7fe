import type { StaleCause } from "@bunting/sync-client/messages";

/** For a source that has delivered nothing yet. */
export const withoutFlags: Readonly<Record<StaleCause, string>> = {
  unreachable: "the source is unreachable; retrying",
  refused: "the source refuses this agent, or its credentials can't be read; retrying",
  misconfigured: "the source does not have what this agent is configured to ask for; retrying",
  invalid: "what the source delivers can't be used; retrying",
};

/** For one whose flags are served. */
export const withLastFlags: Readonly<Record<StaleCause, string>> = {
  unreachable:
    "lost the connection to the source; its last flags are still served while the agent reconnects",
  refused:
    "the source refuses this agent now, or its credentials can't be read; its last flags are still served while the agent tries again",
  misconfigured:
    "the source no longer has what this agent is configured to ask for; its last flags are still served while the agent tries again",
  invalid:
    "what the source delivers now can't be used; its last flags are still served while the agent tries again",
};

/** What a proxy says of its own source. */
export const ofProxy: Readonly<Record<StaleCause, string>> = {
  unreachable: "the proxy can't reach where the flags come from",
  refused: "the proxy is refused where the flags come from",
  misconfigured: "the proxy finds nothing of the kind where the flags should come from",
  invalid: "the proxy refuses the newest version",
};
