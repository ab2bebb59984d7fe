import { requestParts } from "@bunting/featureflags/resources";
import { addressKey, parseObjectName, parseObjectNames, type ObjectAddress } from "./object-names.js";
import type { SourceProblem } from "./source-problem.js";

/** The objects that the text of a sidecar's entry names. */
export interface NamedObjects {
  /** FeatureFlagSources, in the order in which they are merged. */
  readonly sources: readonly ObjectAddress[];
  /** FeatureFlags that need none. */
  readonly flags: readonly ObjectAddress[];
}

/**
 * The objects that a text names.
 *
 * @param isSource whether there is a FeatureFlagSource `namespace/name`
 */
export function namedObjects(
  text: string,
  namespace: string,
  isSource: (key: string) => boolean,
): NamedObjects | SourceProblem {
  const parts = requestParts(text);
  if (parts === undefined) return invalid(text);
  const named: { sources: ObjectAddress[]; flags: ObjectAddress[] } = { sources: [], flags: [] };
  const order = parts.order === undefined ? undefined : parseObjectName(parts.order.trim(), namespace);
  if (parts.order !== undefined && order === undefined) return invalid(parts.order);
  // Before the FeatureFlags, of which a workload's own are the last and win.
  const isOfSource = order !== undefined && isSource(addressKey(order));
  if (order !== undefined && !isOfSource) named.flags.push(order);
  for (const list of ["sources", "flags"] as const) {
    const { [list]: names } = parts;
    if (names === undefined) continue;
    const addresses = parseObjectNames(names, namespace);
    if ("reason" in addresses) return addresses;
    named[list].push(...addresses);
  }
  if (order !== undefined && isOfSource) named.sources.push(order);
  return named;
}

function invalid(text: string): SourceProblem {
  const names = parseObjectNames(text, "");
  // A text that can't be the name of one object is refused by its words, as others are.
  const message = "the annotations name what can't be the name of an object; write a name, or namespace/name";
  return "reason" in names ? names : { reason: "InvalidName", message };
}
