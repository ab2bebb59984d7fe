import { readText } from "@bunting/files/text";
import type { JsonObject } from "@bunting/protocol";
import { CliError } from "../../cli-error.js";
import { objectAt, objectsIn } from "../../input/objects-in.js";

/** A Pod as a manifest would make it, and the object that it is of. */
export interface PodOfManifest {
  /** `Deployment shop/checkout`. */
  readonly owner: string;
  readonly namespace: string;
  readonly pod: JsonObject & { readonly metadata: JsonObject };
}

/**
 * The Pods that the objects of a YAML or JSON text make: Pods as they are, and of a workload one of its template.
 *
 * @param namespace of objects that name none
 * @throws CliError INPUT_INVALID
 */
export async function podsInText(
  file: string,
  bytes: Buffer,
  namespace: string,
): Promise<readonly PodOfManifest[]> {
  const text = await readText(file, bytes);
  if (text.kind === "error")
    throw CliError.inputInvalid(`${file}:${text.line}:${text.column}: ${text.message}`);
  const pods = text.documents
    .flatMap(({ value }) => objectsIn(value))
    .flatMap(({ value }) => podOf(value, namespace));
  if (pods.length > 0) return pods;
  throw CliError.inputInvalid(
    `${file} holds no Pod and no workload: name a manifest of a Pod, a Deployment, a Job or the like`,
  );
}

function podOf(object: JsonObject, namespace: string): readonly PodOfManifest[] {
  const kind = typeof object["kind"] === "string" ? object["kind"] : "object";
  const metadata = inner(object, "metadata");
  const template = templateOf(object);
  const { containers } = inner(template, "spec");
  if (!Array.isArray(containers)) return [];
  const own = typeof metadata["namespace"] === "string" ? metadata["namespace"] : namespace;
  const name = typeof metadata["name"] === "string" ? metadata["name"] : "pod";
  const { labels, annotations } = inner(template, "metadata");
  const of = {
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    // Not the object's own name: a Pod of that name may exist, and nothing is written anyway.
    metadata: { ...of, generateName: `${name.slice(0, 50)}-`, namespace: own },
    spec: inner(template, "spec"),
  };
  return [{ owner: `${kind} ${own}/${name}`, namespace: own, pod }];
}

/** Of a Pod the Pod, of a CronJob the template of its Jobs, of all others that have one their template. */
function templateOf(object: JsonObject): JsonObject {
  if (object["kind"] === "Pod") return object;
  const ofJobs = object["kind"] === "CronJob" ? ["jobTemplate", "spec"] : [];
  return inner(object, "spec", ...ofJobs, "template");
}

function inner(object: JsonObject, ...path: readonly string[]): JsonObject {
  return objectAt(object, ...path) ?? {};
}
