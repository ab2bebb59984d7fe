import {
  checkInProcessSpec,
  checkSourceSpec,
  flagsOfSource,
  type Finding,
} from "@bunting/featureflags/checks";
import { inlineKinds, openFeatureApiVersion } from "@bunting/featureflags/resources";
import { readText } from "@bunting/files/text";
import type { JsonObject } from "@bunting/protocol";
import { objectAt, objectsIn } from "../input/objects-in.js";
import { checkBesideFlags } from "../operator/check-beside-flags.js";
import { checkAnnotations, checkWorkloadAnnotations, hasInlineFlags } from "./check-annotations.js";
import type { FileFinding } from "./file-finding.js";

/** A FeatureFlag that a source of a FeatureFlagSource names, and where. */
export interface NamedFlag {
  readonly topic: string;
  /** False if the namespace is that of the object, which does not say it: it comes from elsewhere. */
  readonly hasNamespace: boolean;
  readonly line: number;
  readonly column: number;
}

/** Findings in objects beside FeatureFlags. */
interface LintedObjects {
  readonly objects: number;
  readonly findings: readonly Omit<FileFinding, "file">[];
  readonly named: readonly NamedFlag[];
}

type Path = readonly string[];

/** Path to the template of Pods, by the kind of their workload. */
const templates: Readonly<Record<string, Path>> = {
  ...Object.fromEntries(Object.entries(inlineKinds).map(([kind, { template }]) => [kind, template])),
  ReplicaSet: ["spec", "template"],
  ReplicationController: ["spec", "template"],
  Pod: [],
};

/** FeatureFlags, which have the group in their apiVersion, are read a second time only if they have something beside flags. */
const mayHold =
  /FeatureFlagSource|InProcessConfiguration|openfeature\.dev\/(?!v\d)|bunting\.dev\/|\b(?:rollout|remoteFlagProvider)["']?\s*:/;

/** Checks FeatureFlagSources, InProcessConfigurations, what FeatureFlags have beside flags, and the annotations of Pods and of the templates of workloads in a text. */
export async function lintObjects(path: string, text: string): Promise<LintedObjects> {
  const found = { objects: 0, findings: [] as LintedObjects["findings"][number][], named: [] as NamedFlag[] };
  if (!mayHold.test(text)) return found;
  const read = await readText(path, Buffer.from(text));
  // The reader of flags says of a text that is no YAML that it is none.
  if (read.kind === "error") return found;
  for (const document of read.documents) {
    for (const { at, value } of objectsIn(document.value)) {
      const placeOf = (inner: Path) => document.positionOf([...at, ...inner]);
      const findings = findingsOf(value);
      if (findings === undefined) continue;
      found.objects++;
      for (const { path: inner, ...finding } of findings)
        found.findings.push({ ...finding, ...placeOf(inner) });
      for (const { path: inner, ...named } of namedFlags(value))
        found.named.push({ ...named, ...placeOf(inner) });
    }
  }
  return found;
}

/** Undefined for an object that has nothing to do with flags. */
function findingsOf(object: JsonObject): readonly Finding[] | undefined {
  const { kind, apiVersion } = object;
  if (typeof kind !== "string") return undefined;
  if (apiVersion === openFeatureApiVersion) {
    const spec = objectAt(object, "spec") ?? {};
    if (kind === "FeatureFlag") return checkBesideFlags(spec);
    if (kind === "FeatureFlagSource") return below(["spec"], checkSourceSpec(spec));
    return kind === "InProcessConfiguration" ? below(["spec"], checkInProcessSpec(spec)) : undefined;
  }
  const template = Object.hasOwn(templates, kind) ? templates[kind] : undefined;
  if (template === undefined) return undefined;
  const path = [...template, "metadata", "annotations"];
  const ofPod = objectAt(object, ...path) ?? {};
  if (template.length === 0) return below(path, checkAnnotations(ofPod));
  const own = ["metadata", "annotations"];
  const ofWorkload = objectAt(object, ...own) ?? {};
  return [
    ...below(own, checkWorkloadAnnotations(ofWorkload, kind)),
    ...below(path, checkAnnotations(ofPod, hasInlineFlags(ofWorkload, kind))),
  ];
}

function namedFlags(
  object: JsonObject,
): readonly (Omit<NamedFlag, "line" | "column"> & { readonly path: Path })[] {
  if (object["kind"] !== "FeatureFlagSource" || object["apiVersion"] !== openFeatureApiVersion) return [];
  const spec = objectAt(object, "spec") ?? {};
  const given = objectAt(object, "metadata")?.["namespace"];
  const own = typeof given === "string" ? given : "default";
  return flagsOfSource(spec, own).map(({ namespace, name, path }) => ({
    topic: `${namespace}/${name}`,
    hasNamespace: typeof given === "string" || namespace !== own,
    path: ["spec", ...path],
  }));
}

function below(path: Path, findings: readonly Finding[]): readonly Finding[] {
  return findings.map((finding) => ({ ...finding, path: [...path, ...finding.path] }));
}
