import { formatLabelSelector, KubeError, type KubeObject, type LabelSelector } from "@bunting/kube";
import { quoted } from "@bunting/protocol";
import { CliError } from "../../cli-error.js";
import type { ClusterReader } from "../cluster-reader.js";
import { namedAddressText, parseNamedAddress, type NamedAddress } from "../object-address.js";
import { clusterTypes } from "../operator-names.js";
import { asShownPod, type ShownPod } from "../shown-pod.js";
import type { ExplainedPod } from "./pod-facts.js";

const usage = "name one of: pod NAMESPACE/NAME, or deployment NAMESPACE/NAME";

/**
 * Finds the Pod of a command line: `pod NAMESPACE/NAME`, `deployment NAMESPACE/NAME`, or with a slash between kind and name. Of a Deployment it is
 * the newest Pod, or the template if there are none.
 *
 * @throws CliError USAGE_INVALID, OBJECT_UNKNOWN; KubeError
 */
export async function findPod(
  words: readonly string[],
  namespace: string,
  reader: ClusterReader,
): Promise<ExplainedPod> {
  const [kind = "", text, ...more] = words.length === 1 ? splitOnce(words[0] ?? "") : words;
  if (text === undefined || more.length > 0) throw CliError.usageInvalid(usage);
  const address = parseNamedAddress(text, namespace);
  if (["pod", "pods", "po"].includes(kind)) return podAt(address, reader);
  if (["deployment", "deployments", "deploy"].includes(kind)) return podOfDeployment(address, reader);
  throw CliError.usageInvalid(`${quoted(kind)} can't be explained: ${usage}`);
}

function splitOnce(word: string): readonly string[] {
  const slash = word.indexOf("/");
  return slash < 0 ? [word] : [word.slice(0, slash), word.slice(slash + 1)];
}

async function podAt(address: NamedAddress, reader: ClusterReader): Promise<ExplainedPod> {
  const object = await present(`Pod ${namedAddressText(address)}`, () =>
    reader.client.get({ type: clusterTypes.pod, ...address }, reader.signal),
  );
  const { namespace } = address;
  const name = deploymentOf(object);
  const owner =
    name === undefined ? undefined : await reader.find({ type: clusterTypes.deployment, namespace, name });
  const deployment = owner?.kind === "found" ? owner.found : undefined;
  return { ...found(address, object, false), ...annotationsOf(deployment) };
}

/** By the name of its ReplicaSet, which ends in the hash of the template. */
function deploymentOf({ metadata }: KubeObject): string | undefined {
  const { labels = {}, ownerReferences = [] } = metadata as Pick<KubeObject["metadata"], "labels"> & {
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
  const set = ownerReferences.find(({ kind }) => kind === "ReplicaSet")?.name ?? "";
  const end = `-${labels["pod-template-hash"] ?? ""}`;
  return end.length > 1 && set.endsWith(end) ? set.slice(0, -end.length) : undefined;
}

function annotationsOf(deployment: KubeObject | undefined): Pick<ExplainedPod, "ofDeployment"> {
  const annotations = deployment?.metadata.annotations;
  return annotations === undefined ? {} : { ofDeployment: annotations };
}

async function podOfDeployment(address: NamedAddress, reader: ClusterReader): Promise<ExplainedPod> {
  const deployment = await present(`Deployment ${namedAddressText(address)}`, () =>
    reader.client.get({ type: clusterTypes.deployment, ...address }, reader.signal),
  );
  const { selector, template } = deployment["spec"] as {
    readonly selector: LabelSelector;
    readonly template: ShownPod;
  };
  const { namespace } = address;
  const labelSelector = formatLabelSelector(selector);
  const pods = await reader.all({ type: clusterTypes.pod, namespace, labelSelector });
  const newest = pods.toSorted((a, b) => createdAt(b).localeCompare(createdAt(a)))[0];
  const shown =
    newest === undefined
      ? found(address, template, true)
      : found({ namespace, name: newest.metadata.name }, newest, false);
  return { ...shown, ...annotationsOf(deployment) };
}

function found(address: NamedAddress, object: unknown, isTemplate: boolean): ExplainedPod {
  const pod = asShownPod(object);
  if (pod === undefined) throw new KubeError("PROTOCOL", `${namedAddressText(address)} has no containers`);
  return { address, pod, isTemplate };
}

function createdAt({ metadata }: KubeObject): string {
  return typeof metadata["creationTimestamp"] === "string" ? metadata["creationTimestamp"] : "";
}

async function present(what: string, read: () => Promise<KubeObject>): Promise<KubeObject> {
  try {
    return await read();
  } catch (cause) {
    if (!(cause instanceof KubeError) || cause.code !== "NOT_FOUND") throw cause;
    const message = `there is no ${what}: is it in another namespace, or another cluster (--kube-context)?`;
    throw new CliError("OBJECT_UNKNOWN", message, { cause });
  }
}
