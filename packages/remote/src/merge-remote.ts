import { compareUtf8, type FlagDocument, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { RemoteStrategy } from "@bunting/featureflags/resources";
import { renamedEvaluators } from "./rename-evaluators.js";

/** The FeatureFlag itself, or its remote. */
export type Side = "local" | "remote";

export interface MergedRemote {
  readonly document: FlagDocument;
  /** The side that each flag is of. */
  readonly provenance: ReadonlyMap<string, Side>;
  /** Evaluators that are served under another name, as sentences. */
  readonly remarks: readonly string[];
}

/**
 * The document of a FeatureFlag and of its remote. Where both have a flag, one field of metadata or an evaluator of one name, it is that of the side
 * which the strategy prefers; a rule means what it meant on its own side. Equal sides make equal documents.
 */
export function mergeRemote(sides: {
  readonly local: FlagDocument;
  readonly remote: FlagDocument;
  readonly strategy: RemoteStrategy;
}): MergedRemote {
  const { local, remote, strategy } = sides;
  if (strategy === "replace")
    return { document: remote, provenance: provenanceOf({}, remote.flags, "remote"), remarks: [] };
  const [preferred, other]: readonly [Side, Side] =
    strategy === "merge" ? ["local", "remote"] : ["remote", "local"];
  const renamed = renamedEvaluators(flagsOnlyIn(sides[other], sides[preferred]), sides[preferred]);
  const metadata = unitedMetadata(sides[other], sides[preferred]);
  const evaluators = { ...renamed.document.$evaluators, ...sides[preferred].$evaluators };
  const document: FlagDocument = {
    flags: sorted({ ...renamed.document.flags, ...sides[preferred].flags }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(local.$evaluators === undefined && remote.$evaluators === undefined
      ? {}
      : { $evaluators: sorted(evaluators) }),
  };
  const remarks = Array.from(renamed.names, ([name, served]) => {
    const whose = { local: "the FeatureFlag", remote: "the remote" };
    return `the evaluator "${name}" of ${whose[other]} is served as "${served}", because that of ${whose[preferred]} means something else`;
  });
  const provenance = provenanceOf(renamed.document.flags, sides[preferred].flags, preferred);
  return { document, provenance, remarks };
}

function flagsOnlyIn(document: FlagDocument, preferred: FlagDocument): FlagDocument {
  const flags = Object.entries(document.flags).filter(([key]) => !Object.hasOwn(preferred.flags, key));
  return { ...document, flags: Object.fromEntries(flags) };
}

function unitedMetadata(document: FlagDocument, preferred: FlagDocument): JsonObject | undefined {
  if (document.metadata === undefined && preferred.metadata === undefined) return undefined;
  return sorted({ ...document.metadata, ...preferred.metadata });
}

function provenanceOf(others: JsonObject, preferred: JsonObject, side: Side): ReadonlyMap<string, Side> {
  const other: Side = side === "local" ? "remote" : "local";
  return new Map<string, Side>([
    ...Object.keys(others).map((key) => [key, other] as const),
    ...Object.keys(preferred).map((key) => [key, side] as const),
  ]);
}

/** Spread and fromEntries define members rather than assign them: a flag called `__proto__` stays a flag. */
function sorted(object: JsonObject): JsonObject {
  const entries = Object.entries<JsonValue>(object);
  return Object.fromEntries(entries.sort(([a], [b]) => compareUtf8(a, b)));
}
