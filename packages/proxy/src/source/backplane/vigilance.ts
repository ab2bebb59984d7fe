/**
 * How soon a replica notices that it can't read the API server. Replicas that share wait for one of them, the owner, so it has to notice, and let
 * another one take its place, within about the life of a lease: silence, a PING without an answer, and a watch that does not come back add up to
 * less than 5 s, where a replica of its own may take a minute. The price is a PING a second on connections without events.
 */
export const vigilance = {
  timing: { silenceMs: 1_000, pingTimeoutMs: 2_000 },
  staleAfterMs: 1_500,
} as const;
