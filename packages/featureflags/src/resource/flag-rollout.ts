/** How a new version of a FeatureFlag reaches its agents: some of them try it before the others get it. */
export interface FlagRollout {
  /** Percentages of the agents that have it before all do, each more than the one before. */
  readonly waves?: readonly number[];
  /** How long the agents of a wave must have it without a complaint before the next wave begins, such as `60s`. */
  readonly observe?: string;
  /** How many refusals, of flags that were served before, do not halt it. */
  readonly maxRefusing?: number;
  /** No further wave begins. */
  readonly paused?: boolean;
}

/** As an API server fills them in. */
export const flagRolloutDefaults = Object.freeze({
  waves: Object.freeze([1, 10]),
  observe: "60s",
  maxRefusing: 0,
  paused: false,
} as const satisfies Required<FlagRollout>);

export type DefaultedFlagRollout = Required<FlagRollout>;

/** With what an API server would have filled in: a definition of the type may be older than this program. */
export function defaultedFlagRollout(rollout: FlagRollout): DefaultedFlagRollout {
  const given = Object.entries(rollout).filter(([, value]) => value !== undefined && value !== null);
  return { ...flagRolloutDefaults, ...Object.fromEntries(given) };
}

/** What people ask for of a version that is under way. Annotations, so that asking makes no new generation of the flags. */
export const rolloutAnnotations = Object.freeze({
  /** The digest of the version that is given up, or its beginning. */
  aborted: "bunting.dev/rollout-aborted",
  /** Anything that it was not before: what has halted the rollout is forgiven. */
  resumed: "bunting.dev/rollout-resumed",
} as const);

/** Shorter beginnings of a digest name no version. */
const minDigestCharacters = 8;

/** True if the annotations give up the version with this digest. */
export function isGivenUp(
  annotations: Readonly<Record<string, string>> | undefined,
  digest: string,
): boolean {
  const aborted = annotations?.[rolloutAnnotations.aborted];
  return aborted !== undefined && aborted.length >= minDigestCharacters && digest.startsWith(aborted);
}
