import { yamlText } from "@bunting/files/yaml";
import { KubeError } from "@bunting/kube";
import { isJsonObject, type JsonObject } from "@bunting/protocol";
import { CliError } from "../../cli-error.js";
import { nameOf, readInput } from "../../input/read-input.js";
import type { Io } from "../../terminal/io.js";
import type { ClusterReader } from "../cluster-reader.js";
import { clusterTypes, podAnnotations } from "../operator-names.js";
import type { OperatorResult } from "../operator-result.js";
import { asShownPod, type ShownPod } from "../shown-pod.js";
import { addedParts, type AddedParts } from "./added-parts.js";
import { podsInText, type PodOfManifest } from "./pods-in-text.js";

/**
 * `bunting operator render FILE`: each Pod as the API server would store it now. Nothing is written.
 *
 * @throws CliError, KubeError
 */
export async function renderPods(
  words: readonly string[],
  namespace: string,
  { reader, io }: { readonly reader: ClusterReader; readonly io: Io },
): Promise<OperatorResult> {
  const [file, ...more] = words;
  if (file === undefined || more.length > 0)
    throw CliError.usageInvalid("name one file with a Pod or a workload, or - for the standard input");
  const manifests = await podsInText(nameOf(file), await readInput(file, io), namespace);
  const rendered: RenderedPod[] = [];
  for (const manifest of manifests) rendered.push(await renderPod(manifest, reader));
  const [first, ...others] = rendered.map(({ pod }) => pod);
  return {
    code: rendered.some(({ isLeftOut }) => isLeftOut) ? 1 : 0,
    lines: rendered.flatMap(({ lines }) => lines),
    value:
      others.length === 0 ? (first ?? {}) : { apiVersion: "v1", kind: "List", items: [first, ...others] },
  };
}

interface RenderedPod {
  readonly pod: object;
  /** It asks for flags, and would get none. */
  readonly isLeftOut: boolean;
  readonly lines: readonly string[];
}

async function renderPod(manifest: PodOfManifest, reader: ClusterReader): Promise<RenderedPod> {
  const { owner, pod } = manifest;
  const after = await dryRun(manifest, pod, reader);
  const wants = annotationsOf(pod)[podAnnotations.enabled] === "true";
  if (!wants) return { pod: after, isLeftOut: false, lines: [`${owner}: does not ask for flags`] };
  // The same Pod that does not ask: what the API server gives every Pod is in both.
  const before = await dryRun(manifest, withoutRequest(pod), reader);
  const added = addedParts(before, after);
  const { [podAnnotations.notInjected]: reason } = after.metadata?.annotations ?? {};
  const isLeftOut = added.containers.length + added.completed.length === 0;
  const why = reason ?? "neither a policy nor a webhook has answered; bunting operator explain says more";
  if (isLeftOut) return { pod: after, isLeftOut, lines: [`${owner}: gets nothing (${why})`] };
  return { pod: after, isLeftOut, lines: [`${owner}: gets`, ...addedLines(added)] };
}

async function dryRun(
  { owner, namespace }: PodOfManifest,
  pod: object,
  reader: ClusterReader,
): Promise<ShownPod> {
  try {
    const scope = { type: clusterTypes.pod, namespace };
    const created = await reader.client.create(scope, pod, reader.signal, { query: { dryRun: "All" } });
    const shown = asShownPod(created);
    if (shown !== undefined) return shown;
    throw new KubeError("PROTOCOL", `the API server answered with something that is no Pod for ${owner}`);
  } catch (cause) {
    if (!(cause instanceof KubeError) || !["FORBIDDEN", "INVALID", "NOT_FOUND"].includes(cause.code))
      throw cause;
    const message = `the API server would not take the Pod of ${owner}: ${cause.message}. A dry run needs the namespace, its ServiceAccount, and the verb create on pods`;
    throw new CliError("SERVER_REFUSED", message, { cause });
  }
}

function annotationsOf({ metadata }: PodOfManifest["pod"]): JsonObject {
  const annotations = metadata["annotations"] ?? null;
  return isJsonObject(annotations) ? annotations : {};
}

function withoutRequest(pod: PodOfManifest["pod"]): object {
  const kept = Object.entries(annotationsOf(pod)).filter(([name]) => name !== podAnnotations.enabled);
  const annotations = { ...Object.fromEntries(kept), [podAnnotations.enabled]: "false" };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

/** In the form of a manifest, with only what is new. */
function addedLines({ containers, volumes, completed, labels, annotations }: AddedParts): readonly string[] {
  const shown = {
    ...unlessEmpty("labels", labels),
    ...unlessEmpty("annotations", without(annotations, podAnnotations.enabled)),
    ...(containers.length === 0 ? {} : { containers }),
    ...(volumes.length === 0 ? {} : { volumes }),
    ...(completed.length === 0
      ? {}
      : { variables: Object.fromEntries(completed.map(({ name, ...of }) => [name, of])) }),
  };
  return yamlText(shown)
    .split("\n")
    .map((line) => `  ${line}`);
}

function unlessEmpty(name: string, entries: Readonly<Record<string, string>>): object {
  return Object.keys(entries).length === 0 ? {} : { [name]: entries };
}

function without(entries: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));
}
