import { atOnce, isJsonObject, type DocumentWork, type JsonObject, type JsonValue } from "@bunting/protocol";
import { readFeatureFlag } from "../manifest/read-feature-flag.js";
import { openFeatureApiVersion } from "../resource/custom-resource.js";
import { parseRemoteFlagProvider } from "../resource/remote-flag-provider.js";
import { checkingDocument, type CheckOptions } from "./check-document.js";
import { kindOfError, kindOfWarning } from "./finding-kinds.js";
import type { Finding } from "./finding.js";

/**
 * Findings about a FeatureFlag as the API server has it. It is read as the proxy reads it, and each flag as agents do. Paths begin
 * at the object. What only a text shows, such as numbers that lost their zeros, is not found.
 */
export function checkFeatureFlag(object: JsonObject, options: CheckOptions): readonly Finding[] {
  return atOnce(checkingFeatureFlag(object, options));
}

/** `checkFeatureFlag` in steps of a flag each, the first of which reads all of it. */
export function* checkingFeatureFlag(
  object: JsonObject,
  options: CheckOptions,
): DocumentWork<readonly Finding[]> {
  const read = readFeatureFlag(object);
  if (read === undefined) {
    const message = `expected a FeatureFlag of ${openFeatureApiVersion}`;
    return [{ severity: "error", kind: "manifest", message, path: [] }];
  }
  if ("reason" in read)
    return [read, ...(read.more ?? [])].map(({ reason, message, path }) => ({
      severity: "error",
      kind: kindOfError[reason],
      message,
      path,
    }));
  const { flags, warnings } = read;
  yield;
  const ofRemote = remoteFindings(object["spec"] ?? null);
  const ofDocument = yield* checkingDocument(flags, options);
  return withoutEchoes([
    ...warnings.map(({ kind, message, path }): Finding => ({
      severity: "warning",
      kind: kindOfWarning[kind],
      message,
      path,
    })),
    ...(flags.refused ?? []).flatMap(({ key, problems }) =>
      problems.map(({ message, path }): Finding => ({
        severity: "error",
        kind: "document",
        flag: key,
        message,
        path: [...flags.path, ...path],
      })),
    ),
    ...ofDocument.map((finding) => ({
      ...finding,
      path: [...flags.path, ...finding.path],
    })),
    ...ofRemote,
  ]);
}

/** Mistakes in the remote flag provider. The proxy then serves the flags of the FeatureFlag itself, and no others. */
export function remoteFindings(spec: JsonValue): readonly Finding[] {
  const value = isJsonObject(spec) ? (spec["remoteFlagProvider"] ?? null) : null;
  if (value === null) return [];
  const parsed = parseRemoteFlagProvider(value);
  if ("provider" in parsed) return [];
  return parsed.problems.map(({ message, path }) => ({
    severity: "error",
    kind: "remote",
    message,
    path: ["spec", "remoteFlagProvider", ...path],
  }));
}

/** A warning at the place of an error says less than that. */
function withoutEchoes(findings: readonly Finding[]): readonly Finding[] {
  const placeOf = ({ path }: Finding): string => JSON.stringify(path);
  const wrong = new Set(findings.filter(({ severity }) => severity === "error").map(placeOf));
  return findings.filter((finding) => finding.severity === "error" || !wrong.has(placeOf(finding)));
}
