import { quoted } from "./quoted.js";
import { isNamespaceName, isTopicKey } from "./topic-selector.js";

/** The annotation by which a FeatureFlag is shared with other namespaces: `team-a,team-b/checkout`. */
export const readersAnnotation = "bunting.dev/readers";

/** The namespaces (`team-a`) and ServiceAccounts (`team-b/checkout`) that a FeatureFlag is shared with. */
export type Readers = ReadonlySet<string>;

export interface ParsedReaders {
  /** Undefined if there are none. */
  readonly readers: Readers | undefined;
  /** What is wrong with entries, which then share nothing. */
  readonly warnings: readonly string[];
}

/** More than any list that people maintain; it bounds what one annotation takes in memory. */
const maxEntries = 1_000;
/** How many malformed entries are named. */
const maxWarnings = 10;
const nothing: ParsedReaders = { readers: undefined, warnings: [] };

/** Reads the value of the annotation: namespaces, or `<namespace>/<ServiceAccount>`, separated by commas, with or without spaces. */
export function parseReaders(value: unknown): ParsedReaders {
  if (value === undefined || value === null || value === "") return nothing;
  if (typeof value !== "string") return refused("its value is not a text");
  const entries = value.split(",", maxEntries + 1).map((entry) => entry.trim());
  if (entries.length > maxEntries) return refused(`it has more than ${maxEntries} entries`);
  const readers = new Set<string>();
  const warnings: string[] = [];
  for (const entry of entries) {
    // Names of ServiceAccounts have the form of those of FeatureFlags.
    if (isNamespaceName(entry) || isTopicKey(entry)) readers.add(entry);
    else if (warnings.length < maxWarnings) warnings.push(warningOf(entry));
  }
  return { readers: readers.size === 0 ? undefined : readers, warnings };
}

/** The value of the annotation of an object, as it is in its `metadata`; undefined if it has none. */
export function readersOfMetadata(metadata: unknown): unknown {
  const { annotations } = (metadata ?? {}) as { annotations?: unknown };
  if (typeof annotations !== "object" || annotations === null) return undefined;
  return (annotations as Readonly<Record<string, unknown>>)[readersAnnotation];
}

function refused(why: string): ParsedReaders {
  return { readers: undefined, warnings: [`the annotation ${readersAnnotation} shares nothing: ${why}`] };
}

function warningOf(entry: string): string {
  const remedy = entry.includes("*")
    ? "there are no wildcards; name the namespaces, or start the proxy with --authorize=all"
    : "write a namespace, or <namespace>/<ServiceAccount>";
  return `the entry ${quoted(entry)} of the annotation ${readersAnnotation} shares nothing: ${remedy}`;
}
