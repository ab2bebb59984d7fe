/** What an agent has when its FeatureFlag was deleted. */
export const empty = "{}";

/** The flag whose variant `v` is the version. */
export const versionFlag = "version";

/** So that deltas are smaller than snapshots. */
const ballast = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`other-${index}`, flag(0)]));

/** The spec of a FeatureFlag that is at this version. */
export function flagsOf(version: number): object {
  return { flagSpec: { flags: { ...ballast, [versionFlag]: flag(version) } } };
}

function flag(v: number): object {
  return { state: "ENABLED", variants: { v }, defaultVariant: "v" };
}
