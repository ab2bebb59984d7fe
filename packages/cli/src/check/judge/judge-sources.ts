import { checkSourceSpec, flagsOfSource, type Finding } from "@bunting/featureflags/checks";
import type { KubeObject } from "@bunting/kube";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { conditionsOf } from "../../operator/explain/object-state.js";
import type { CheckFinding, FindingCode } from "../finding-codes.js";

export interface SourcesFacts {
  readonly sources: readonly KubeObject[];
  /** The keys are those of all FeatureFlags, `namespace/name`. */
  readonly flags: ReadonlyMap<string, unknown>;
}

/** Annotation in which kubectl keeps an object as its author wrote it, with the fields that the API server has dropped. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

export function judgeSources({ sources, flags }: SourcesFacts): readonly CheckFinding[] {
  return sources.flatMap((source) => {
    const found = [...judgeSpec(source), ...judgeFlags(source, flags)];
    // A fault that the operator names as well does not count twice.
    return found.some(({ code }) => code !== "field-unknown")
      ? found
      : [...found, ...judgeConditions(source)];
  });
}

const codes: Readonly<Partial<Record<Finding["kind"], FindingCode>>> = {
  provider: "provider-unknown",
  "unknown-field": "field-unknown",
};

function judgeSpec(source: KubeObject): readonly CheckFinding[] {
  const where = placeOf(source);
  const written = writtenSpec(source);
  const dropped = checkSourceSpec(written).filter(({ kind }) => kind === "unknown-field");
  // The author of a source has had the webhook's warnings, and it works all the same.
  const wrong = checkSourceSpec(specOf(source)).filter(
    ({ kind, severity }) => kind !== "unknown-field" && severity === "error",
  );
  return [...dropped, ...wrong].map(({ kind, message, path }) => ({
    code: codes[kind] ?? "source-invalid",
    where,
    what: `spec.${path.join(".")}: ${message}`,
    todo: "correct the FeatureFlagSource; bunting lint finds the same in its file",
  }));
}

function judgeFlags(source: KubeObject, flags: ReadonlyMap<string, unknown>): readonly CheckFinding[] {
  return flagsOfSource(specOf(source), source.metadata.namespace ?? "")
    .filter(({ namespace, name }) => !flags.has(`${namespace}/${name}`))
    .map(({ namespace, name, path }) => ({
      code: "flag-missing",
      where: placeOf(source),
      what: `spec.${path.join(".")}: there is no FeatureFlag ${namespace}/${name}`,
      todo: "create it, or correct the source: applications use their defaults until then",
    }));
}

function judgeConditions(source: KubeObject): readonly CheckFinding[] {
  const refused = conditionsOf(source).find(
    ({ type, status }) => status === "False" && (type === "Accepted" || type === "Compiled"),
  );
  if (refused === undefined) return [];
  const { type, reason, message } = refused;
  const where = placeOf(source);
  const what = `${type} is False (${reason}): ${message.replace(/\.$/, "")}`;
  // Pods get it all the same.
  if (reason === "CrossNamespaceLegacy")
    return [{ code: "source-unshared", where, what, todo: "have the owner of the other namespace share it" }];
  return [
    { code: "source-refused", where, what, todo: "correct the FeatureFlagSource as its conditions say" },
  ];
}

function placeOf({ metadata }: KubeObject): string {
  return `FeatureFlagSource ${metadata.namespace ?? ""}/${metadata.name}`;
}

function specOf(source: KubeObject): JsonObject {
  return objectOf(source["spec"]);
}

function writtenSpec({ metadata }: KubeObject): JsonObject {
  try {
    return objectOf((JSON.parse(metadata.annotations?.[lastApplied] ?? "{}") as JsonObject)["spec"]);
  } catch {
    // Somebody else wrote the annotation.
    return {};
  }
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value as JsonValue) ? (value as JsonObject) : {};
}
