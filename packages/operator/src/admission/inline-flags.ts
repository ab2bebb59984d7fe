import { checkingFeatureFlag, checkStoredFlags, type Finding } from "@bunting/featureflags/checks";
import { readManifest } from "@bunting/featureflags/manifests";
import { inlineFileName, openFeatureApiVersion } from "@bunting/featureflags/resources";
import { isJsonObject, type DocumentWork, type JsonObject } from "@bunting/protocol";
import { hasHugeRule } from "./rule-size.js";

/** A workload's flags, as they are to be stored. */
export interface InlineFlags {
  /** The document as it is written. */
  readonly flagSpec: JsonObject;
  /** Where a finding is, as people say it: `line 3, column 5`. */
  readonly placeOf: (path: readonly string[]) => string;
}

/** Annotations of an object may have 256 KB in all. */
export const maxInlineBytes = 65_536;

/**
 * Reads the text of the annotation: a flagd document, as JSON or YAML.
 *
 * @returns a sentence with the place if it is none
 */
export async function readInlineFlags(text: string): Promise<InlineFlags | { readonly problem: string }> {
  const bytes = Buffer.from(text);
  if (bytes.length > maxInlineBytes)
    return {
      problem: `they take ${bytes.length} bytes, and ${maxInlineBytes} are taken: write a FeatureFlag, and name it in openfeature.dev/featureflag of the Pod template`,
    };
  const { flags, errors } = await readManifest(inlineFileName(text), bytes, { topic });
  const error = errors.find(({ flag }) => flag === undefined);
  if (error !== undefined) return { problem: `${placeOf(error)}: ${error.message}` };
  const [document, ...more] = flags;
  if (document === undefined) return { problem: 'they are no flagd document: write {"flags": {…}}' };
  const { written } = document;
  if (more.length > 0 || document.topic !== topic || !isJsonObject(written))
    return { problem: 'they are a manifest: write a flagd document alone, {"flags": {…}}' };
  return { flagSpec: written, placeOf: (path) => placeOf(document.positionOf(path)) };
}

/** Of the document; any will do. */
const topic = "inline/flags";

function placeOf({ line, column }: { readonly line: number; readonly column: number }): string {
  return `line ${line}, column ${column}`;
}

/** Findings about the flags, with their paths within the document. */
export function* checkingInlineFlags(
  { flagSpec }: InlineFlags,
  limits: { readonly maxDocumentBytes: number; readonly maxFindings: number },
): DocumentWork<readonly Finding[]> {
  const object = {
    apiVersion: openFeatureApiVersion,
    kind: "FeatureFlag",
    metadata: { namespace: "inline", name: "flags" },
    spec: { flagSpec },
  };
  if (hasHugeRule(object)) return [];
  const findings = yield* checkingFeatureFlag(object, limits);
  // The FeatureFlag that is made of them would be refused.
  const unstored = checkStoredFlags(flagSpec).slice(0, limits.maxFindings);
  return [
    ...unstored.map((finding): Finding => ({ ...finding, severity: "error", kind: "document" })),
    ...findings.map((finding) => ({ ...finding, path: finding.path.slice(2) })),
  ];
}
