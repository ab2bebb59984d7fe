import { controllerOf, type KubeObject, type OwnerReference } from "@bunting/kube";

/** What made a Pod, and makes another one in its place. */
export interface WorkloadOfPod {
  /** The Pod's controller. */
  readonly owner: OwnerReference;
  /** The same for all Pods of a workload: for those of a Deployment, whose ReplicaSets come and go, its name. */
  readonly key: string;
}

const templateHash = "pod-template-hash";

/** The workload of a Pod; undefined for a Pod that nothing would replace. */
export function workloadOfPod(pod: KubeObject): WorkloadOfPod | undefined {
  const owner = controllerOf(pod);
  if (owner === undefined) return undefined;
  const { namespace = "", labels = {} } = pod.metadata;
  const suffix = `-${labels[templateHash] ?? ""}`;
  const isOfDeployment = owner.kind === "ReplicaSet" && suffix !== "-" && owner.name.endsWith(suffix);
  const [kind, name] = isOfDeployment
    ? ["Deployment", owner.name.slice(0, -suffix.length)]
    : [owner.kind, owner.name];
  return { owner, key: `${namespace}/${kind}/${name}` };
}
