import {
  compareUtf8,
  flagsPerStep,
  type DocumentWork,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import { quoted } from "@bunting/runtime";
import type { RemoteStrategy } from "@bunting/featureflags/resources";
import { isStep, renaming } from "./rename-evaluators.js";

/** The FeatureFlag itself, or what stands in its place, or its remote. */
export type Side = "local" | "remote";

export interface MergedRemote {
  readonly document: FlagDocument;
  /** The side that each flag is of. */
  readonly provenance: ReadonlyMap<string, Side>;
  /** Evaluators that are served under another name, as sentences. */
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
  const others: (readonly [string, JsonValue])[] = [];
  for (const [index, key] of Object.keys(sides[other].flags).entries()) {
    if (isStep(index)) yield;
    if (!Object.hasOwn(sides[preferred].flags, key)) others.push([key, sides[other].flags[key] ?? null]);
  }
  const renamed = yield* renaming({ ...sides[other], flags: others }, sides[preferred]);
  const flags: [string, JsonValue][] = [...renamed.flags];
  for (const [key] of flags) if (isStep(provenance.set(key, other).size)) yield;
  for (const key of Object.keys(sides[preferred].flags)) {
    flags.push([key, sides[preferred].flags[key] ?? null]);
    if (isStep(provenance.set(key, preferred).size)) yield;
  }
  yield;
  const metadata = unitedMetadata(sides[other], sides[preferred]);
  const evaluators = { ...renamed.$evaluators, ...sides[preferred].$evaluators };
  const document: FlagDocument = {
    flags: sorted(flags),
    ...(metadata === undefined ? {} : { metadata }),
    ...(local.$evaluators === undefined && remote.$evaluators === undefined
      ? {}
      : { $evaluators: sorted(Object.entries(evaluators)) }),
  };
  const remarks = Array.from(renamed.names, ([name, served]) => {
    const whose = { local: sides.localName ?? "the FeatureFlag", remote: "the remote" };
    return `the evaluator ${quoted(name)} of ${whose[other]} is served as ${quoted(served)}, because that of ${whose[preferred]} means something else`;
  });
  return { document, provenance, remarks };
}

function unitedMetadata(document: FlagDocument, preferred: FlagDocument): JsonObject | undefined {
  if (document.metadata === undefined && preferred.metadata === undefined) return undefined;
  return sorted(Object.entries({ ...document.metadata, ...preferred.metadata }));
}

/** Spread and fromEntries define members rather than assign them: a flag called `__proto__` stays a flag. */
function sorted(entries: [string, JsonValue][]): JsonObject {
  return Object.fromEntries(entries.sort(([a], [b]) => compareUtf8(a, b)));
}
