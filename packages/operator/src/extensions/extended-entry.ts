import {
  isTexts,
  standsForSecurityContext,
  type ExtensionObject,
  type SidecarObject,
} from "@bunting/extension";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { InjectionEntry } from "../api/injection.js";
import type { Container } from "../api/pod-manifest.js";
import { withDigest } from "../desired/entry-digest.js";
import { imageRevision, isImageOfContainer } from "../desired/image-reference.js";
import { sidecarResources } from "../desired/sidecar-resources.js";

export type ExtendedEntry =
  | {
      readonly kind: "entry";
      readonly entry: InjectionEntry;
      /** What of its resources had to be mended, so that Pods with it are not refused. */
      readonly remarks: readonly string[];
    }
  /** Pods could not have what extensions have made. */
  | { readonly kind: "unusable"; readonly reason: string };

/** What extensions are asked about an entry: the object of the target Sidecar. */
export function sidecarObject(
  text: string,
  namespace: string,
  { container, annotations }: InjectionEntry,
): SidecarObject {
  return {
    apiVersion: "bunting.dev/v1alpha1",
    kind: "Sidecar",
    metadata: { name: text, namespace, annotations },
    // Through JSON, which leaves out what is undefined.
    spec: JSON.parse(JSON.stringify(container === undefined ? {} : { container })) as JsonObject,
  };
}

/** The entry with what extensions have made of its object; an equal one if they have changed nothing of it. */
export function extendedEntry(before: InjectionEntry, { metadata, spec }: ExtensionObject): ExtendedEntry {
  const annotations = metadata["annotations"] ?? {};
  if (!isTexts(annotations)) return unusable("an annotation of a Pod is a text; one is not");
  const wrong = annotationProblem(annotations, before);
  if (wrong !== undefined) return unusable(wrong);
  const others = Object.keys(metadata).find((name) => !knownMetadata.has(name));
  if (others !== undefined) return unusable(`a Sidecar has no metadata.${others}, and Pods would not get it`);
  if (!isJsonObject(spec)) return unusable("a Sidecar has a spec; there is none");
  const { container, ...more } = spec;
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) return unusable(`a Sidecar has no spec.${unknown}, and Pods would not get it`);
  const { container: old } = before;
  const grown =
    bytesOf({ annotations, container }) - bytesOf({ annotations: before.annotations, container: old });
  if (grown > maxGrowth)
    return unusable(`a Sidecar may grow by ${maxGrowth / 1_024} KB; it has grown by more`);
  const rest = unmade(before);
  if (old === undefined || container === undefined) {
    if ((old === undefined) !== (container === undefined))
      return unusable("a container is neither added to a Sidecar nor taken from it");
    return { kind: "entry", entry: withDigest({ ...rest, annotations }), remarks: [] };
  }
  const problem = containerProblem(container, old);
  if (problem !== undefined) return unusable(problem);
  const made = container as unknown as Container;
  const resources = sidecarResources(made.resources, {});
  const entry = withDigest({
    ...rest,
    revision: made.image === old.image ? rest.revision : imageRevision(made.image ?? ""),
    container: { ...made, resources: resources.resources },
    guaranteed: { ...made, resources: resources.guaranteed },
    annotations,
  });
  return { kind: "entry", entry, remarks: resources.problems.map(({ message }) => message) };
}

/** An Injection has room for some 900 KB, and an entry has its container twice: one that is too large would be missing in it. */
const maxGrowth = 64 * 1_024;

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** As API servers have names of annotations. */
const annotationName =
  /^((?=[^/]{1,253}\/)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\/)?[a-z0-9]([\w.-]{0,61}[a-z0-9])?$/i;

/** Annotations that API servers judge, such as those that stand for a security context: they may refuse a Pod because of one. */
const meaningfulAnnotation =
  /^(kubernetes\.io\/config\.|scheduler\.alpha\.kubernetes\.io\/|controller\.kubernetes\.io\/pod-deletion-cost$)/i;

function annotationProblem(
  annotations: Readonly<Record<string, string>>,
  before: InjectionEntry,
): string | undefined {
  const added = Object.keys(annotations).filter((name) => !Object.hasOwn(before.annotations, name));
  const wrong = added.find((name) => !annotationName.test(name));
  if (wrong !== undefined) return `no annotation of a Pod can be called ${JSON.stringify(wrong)}`;
  const meaningful = added.find((name) => meaningfulAnnotation.test(name) || standsForSecurityContext(name));
  return meaningful === undefined
    ? undefined
    : `a Sidecar can't have the annotation ${meaningful}: by it API servers decide about Pods`;
}

/** The entry without what is made of what extensions answer. */
function unmade(entry: InjectionEntry): Omit<InjectionEntry, "digest" | "container" | "guaranteed"> {
  const made = new Set(["digest", "container", "guaranteed"]);
  const fields = Object.entries(entry).filter(([name]) => !made.has(name));
  return Object.fromEntries(fields) as unknown as ReturnType<typeof unmade>;
}

const knownMetadata: ReadonlySet<string> = new Set(["name", "namespace", "annotations"]);

/** Why Pods with the container would be refused, as far as that can be told without an API server. */
function containerProblem(container: JsonValue, { name }: Container): string | undefined {
  if (!isJsonObject(container)) return "spec.container is an object; it is not";
  if (container["name"] !== name) return `the container of a Sidecar is called ${name}`;
  const { image, resources = {} } = container;
  if (typeof image !== "string" || !isImageOfContainer(image))
    return "the container of a Sidecar has an image; this text is none";
  const list = lists.find((each) => !Array.isArray(container[each] ?? []));
  if (list !== undefined) return `spec.container.${list} is a list; it is not`;
  const areQuantities =
    isJsonObject(resources) &&
    ["requests", "limits"].every((each) => isQuantities(resources[each] ?? {})) &&
    Array.isArray(resources["claims"] ?? []);
  return areQuantities ? undefined : "spec.container.resources has requests and limits, such as memory: 64Mi";
}

const lists = ["args", "command", "env", "envFrom", "ports", "volumeMounts"];

function isQuantities(value: JsonValue): boolean {
  return (
    isJsonObject(value) && Object.values(value).every((each) => ["string", "number"].includes(typeof each))
  );
}

function unusable(reason: string): ExtendedEntry {
  return { kind: "unusable", reason };
}
