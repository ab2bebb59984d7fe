import { KubeError, readPages, type KubeObject, type ResourceType, type RestClient } from "@bunting/kube";
import type { PodMetadata } from "../../api/pod-manifest.js";
import { injectionRequest, wantsFlags } from "../../pod/injection-request.js";
import { Attempts } from "../access/attempts.js";

/** Kinds whose Pods are replaced when their template changes. */
const kinds: Readonly<Record<string, ResourceType>> = {
  Deployment: { group: "apps", version: "v1", plural: "deployments" },
  StatefulSet: { group: "apps", version: "v1", plural: "statefulsets" },
  DaemonSet: { group: "apps", version: "v1", plural: "daemonsets" },
};
const pageSize = 100;
/** As `kubectl rollout restart` and the open-feature-operator have it. */
const restartedAnnotation = "kubectl.kubernetes.io/restartedAt";

export interface Restart {
  readonly namespace: string;
  /** Workloads with one of these texts in the annotation of their Pods are restarted. */
  readonly texts: ReadonlySet<string>;
  /** Only these of them, as `workloadOfPod` names them; absent: all. */
  readonly workloads?: ReadonlySet<string> | undefined;
  /** The value of the annotation. Restarting again at the same time changes nothing. */
  readonly at: string;
}

/** A workload that was restarted. */
export interface RestartedWorkload {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly text: string;
}

/**
 * Restarts the workloads of a namespace whose Pods name one of the texts. They are read for that alone and not kept: it happens rarely.
 *
 * @throws KubeError if one can't be restarted; the others are all the same
 */
export async function restartWorkloads(
  client: Pick<RestClient, "readPage" | "patch">,
  restart: Restart,
  signal: AbortSignal,
): Promise<readonly RestartedWorkload[]> {
  const restarted: RestartedWorkload[] = [];
  const attempts = new Attempts(signal);
  for (const [kind, type] of Object.entries(kinds)) {
    const { namespace, workloads } = restart;
    for (const { name, uid, text } of await named(client, type, restart, signal)) {
      if (workloads?.has(`${namespace}/${kind}/${name}`) === false) continue;
      const annotations = { [restartedAnnotation]: restart.at };
      const patch = { metadata: { uid }, spec: { template: { metadata: { annotations } } } };
      await attempts.make(async () => {
        try {
          const query = { fieldManager: "bunting-operator-rollout" };
          await client.patch({ type, namespace, name }, "merge", patch, signal, { query });
          restarted.push({ kind, name, uid, text });
        } catch (error) {
          // It is gone, or another one has its name.
          if (!(error instanceof KubeError && (error.code === "NOT_FOUND" || error.code === "CONFLICT")))
            throw error;
        }
      });
    }
  }
  attempts.end();
  return restarted;
}

async function named(
  client: Pick<RestClient, "readPage">,
  type: ResourceType,
  { namespace, texts }: Restart,
  signal: AbortSignal,
): Promise<readonly Omit<RestartedWorkload, "kind">[]> {
  const found: Omit<RestartedWorkload, "kind">[] = [];
  const look = (workload: KubeObject): void => {
    const text = textOf(workload);
    const { name, uid = "" } = workload.metadata;
    if (text !== undefined && texts.has(text)) found.push({ name, uid, text });
  };
  await readPages(client, { type, namespace }, { limit: pageSize }, look, signal);
  return found;
}

/** The FeatureFlagSources that Pods of the workload name. */
function textOf(workload: KubeObject): string | undefined {
  const { spec } = workload as {
    readonly spec?: { readonly template?: { readonly metadata?: PodMetadata } };
  };
  const metadata = spec?.template?.metadata ?? {};
  const request = wantsFlags(metadata) ? injectionRequest(metadata) : undefined;
  return request?.list === "sources" ? request.text : undefined;
}
