import type { EnvironmentVariable } from "@bunting/featureflags/resources";
import type { InjectionEntry } from "../api/injection.js";
import { addressKey } from "../sources/object-names.js";
import type { ResolvedSource, SourceElement } from "../sources/source-element.js";
import type { SourcePlan } from "../sources/source-plan.js";
import { shortDigest } from "./entry-digest.js";

/** What running sidecars follow of their sources. */
export interface ListOfEntry {
  readonly entry: Required<Pick<InjectionEntry, "flags" | "frame">>;
  /** How the sidecar is told which one is its own: `NAMESPACE/TEXT@FRAME:BEFORE:AFTER`, with how many sources there are before the place and after it. */
  readonly variable: EnvironmentVariable;
}

/** Of the sidecar. */
export const listVariable = "BUNTING_SOURCE_LIST";
/** The proxy takes no longer text. */
const maxTextBytes = 1_024;

/**
 * The FeatureFlags that the proxy serves, and a digest of everything else that comes from the sources, in which they are one place. Undefined if
 * there are none, or others between them: a list says nothing of these.
 */
export function sourceList(
  namespace: string,
  text: string,
  { spec, sources }: SourcePlan,
): ListOfEntry | undefined {
  const first = sources.findIndex(isServed);
  const end = sources.findLastIndex(isServed) + 1;
  const place = sources.slice(first, end);
  if (first < 0 || !place.every(isServed) || Buffer.byteLength(text) > maxTextBytes) return undefined;
  const without = { sources: undefined, rolloutOnChange: undefined, syncProviderArgs: undefined };
  const elements = (some: readonly ResolvedSource[]): readonly SourceElement[] =>
    some.map(({ element }) => element);
  const frame = shortDigest({
    ...{ ...spec, ...without },
    place: { ...place[0]?.element, selector: undefined },
    before: elements(sources.slice(0, first)),
    after: elements(sources.slice(end)),
  });
  return {
    entry: { flags: place.flatMap(({ flag }) => (flag === undefined ? [] : [addressKey(flag)])), frame },
    variable: {
      name: listVariable,
      value: `${namespace}/${text}@${frame}:${first}:${sources.length - end}`,
    },
  };
}

function isServed({ way, flag }: ResolvedSource): boolean {
  return way === "proxy" && flag !== undefined;
}
