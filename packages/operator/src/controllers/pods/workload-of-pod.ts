import { controllerOf, type KubeObject, type OwnerReference } from "@bunting/kube";

/** What made a Pod, and makes another one in its place. */
export interface WorkloadOfPod {
  /** The Pod's controller. */
  readonly owner: OwnerReference;
  /** The same for all Pods of a workload: for those of a Deployment, whose ReplicaSets come and go, its name. */
  readonly key: string;
}

const templateHash = "pod-template-hash";

/** Of the names in a reference, together. An API server limits none of them, and no object has such names. */
const maxOwnerLength = 1_024;

/** The workload of a Pod; undefined for a Pod that nothing would replace. Whoever creates a Pod can name any owner, which events and evictions keep in memory. */
export function workloadOfPod(pod: KubeObject): WorkloadOfPod | undefined {
  const owner = controllerOf(pod);
  if (owner === undefined || isTooLong(owner)) return undefined;
  const { namespace = "", labels = {} } = pod.metadata;
  const suffix = `-${labels[templateHash] ?? ""}`;
  const isOfDeployment = owner.kind === "ReplicaSet" && suffix !== "-" && owner.name.endsWith(suffix);
  const [kind, name] = isOfDeployment
    ? ["Deployment", owner.name.slice(0, -suffix.length)]
    : [owner.kind, owner.name];
  return { owner, key: `${namespace}/${kind}/${name}` };
}

function isTooLong({ apiVersion, kind, name, uid }: OwnerReference): boolean {
  return apiVersion.length + kind.length + name.length + uid.length > maxOwnerLength;
}
