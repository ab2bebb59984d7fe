import {
  flagsPerStep,
  isStep,
  sortedObject,
  type DocumentWork,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import { FlagError, parseFlag, resolvingEvaluators } from "@bunting/evaluation";
import { cut, quoted } from "@bunting/runtime";
import type { RemoteStrategy } from "@bunting/featureflags/resources";
import { renaming } from "./rename-evaluators.js";

/** The FeatureFlag itself, or what stands in its place, or its remote. */
export type Side = "local" | "remote";

export interface MergedRemote {
  readonly document: FlagDocument;
  /** The side that each flag is of. */
  readonly provenance: ReadonlyMap<string, Side>;
  /** Flags that can't be served, in whose place are those of the other side, and evaluators that are served under another name, as sentences. */
  readonly remarks: readonly string[];
}

export interface Sides {
  readonly local: FlagDocument;
  readonly remote: FlagDocument;
  readonly strategy: RemoteStrategy;
  /** What the local side is called in sentences; the FeatureFlag, if absent. */
  readonly localName?: string;
}

/** True if a merge takes longer than a turn of the event loop should. */
export function isLargeMerge({ local, remote }: Sides): boolean {
  const parts = [local.flags, remote.flags, local.$evaluators ?? {}, remote.$evaluators ?? {}];
  return parts.reduce((sum, part) => sum + Object.keys(part).length, 0) > flagsPerStep;
}

/**
 * The document of a FeatureFlag and of its remote. Where both have a flag, one field of metadata or an evaluator of one name, it is that of the side
 * which the strategy prefers; a rule means what it meant on its own side. Equal sides make equal documents. Either may have a million flags.
 */
export function* merging(sides: Sides): DocumentWork<MergedRemote> {
  const { local, remote, strategy } = sides;
  const provenance = new Map<string, Side>();
  if (strategy === "replace") {
    for (const key of Object.keys(remote.flags)) if (isStep(provenance.set(key, "remote").size)) yield;
    return { document: remote, provenance, remarks: [] };
  }
  const [preferred, other]: readonly [Side, Side] =
    strategy === "merge" ? ["local", "remote"] : ["remote", "local"];
  const broken = yield* brokenFlags(sides[preferred], sides[other].flags);
  const others: (readonly [string, JsonValue])[] = [];
  for (const [index, key] of Object.keys(sides[other].flags).entries()) {
    if (isStep(index)) yield;
    if (broken.has(key) || !Object.hasOwn(sides[preferred].flags, key))
      others.push([key, sides[other].flags[key] ?? null]);
  }
  const renamed = yield* renaming({ ...sides[other], flags: others }, sides[preferred]);
  const flags: [string, JsonValue][] = [...renamed.flags];
  for (const [key] of flags) if (isStep(provenance.set(key, other).size)) yield;
  for (const key of Object.keys(sides[preferred].flags)) {
    if (broken.has(key)) continue;
    flags.push([key, sides[preferred].flags[key] ?? null]);
    if (isStep(provenance.set(key, preferred).size)) yield;
  }
  yield;
  const metadata = unitedMetadata(sides[other], sides[preferred]);
  const evaluators = { ...renamed.$evaluators, ...sides[preferred].$evaluators };
  const document: FlagDocument = {
    flags: sortedObject(flags),
    ...(metadata === undefined ? {} : { metadata }),
    ...(local.$evaluators === undefined && remote.$evaluators === undefined
      ? {}
      : { $evaluators: sortedObject(Object.entries(evaluators)) }),
  };
  const whose = { local: sides.localName ?? "the FeatureFlag", remote: "the remote" };
  const passedOver = Array.from(
    [...broken.values()].slice(0, mostNamed),
    (reason) => `${cut(reason)}, so that of ${whose[other]} is served instead of that of ${whose[preferred]}`,
  );
  if (broken.size > mostNamed) passedOver.push(`so it is for ${broken.size - mostNamed} more`);
  const remarks = Array.from(renamed.names, ([name, served]) => {
    return `the evaluator ${quoted(name)} of ${whose[other]} is served as ${quoted(served)}, because that of ${whose[preferred]} means something else`;
  });
  return { document, provenance, remarks: [...passedOver, ...remarks] };
}

const mostNamed = 3;

/**
 * Flags that the other side has as well, and that agents refuse, such as those whose evaluators refer to each other in a circle, each with the reason. They
 * are passed over, as an agent passes over such a flag of one of its sources.
 */
function* brokenFlags(
  { flags, $evaluators }: FlagDocument,
  others: JsonObject,
): DocumentWork<ReadonlyMap<string, string>> {
  const broken = new Map<string, string>();
  let evaluators: JsonObject | undefined;
  for (const [index, key] of Object.keys(flags).entries()) {
    if (isStep(index)) yield;
    if (!Object.hasOwn(others, key)) continue;
    evaluators ??= yield* resolvingEvaluators($evaluators ?? {});
    try {
      parseFlag(key, flags[key] ?? null, { metadata: {}, evaluators, source: "", sourceIndex: 0 });
    } catch (error) {
      if (!(error instanceof FlagError)) throw error;
      broken.set(key, error.message);
    }
  }
  return broken;
}

function unitedMetadata(document: FlagDocument, preferred: FlagDocument): JsonObject | undefined {
  if (document.metadata === undefined && preferred.metadata === undefined) return undefined;
  return sortedObject(Object.entries({ ...document.metadata, ...preferred.metadata }));
}
