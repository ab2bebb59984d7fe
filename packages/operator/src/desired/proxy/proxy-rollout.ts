import { proxyAnnotations } from "../../api/names.js";
import { proxyNames } from "./proxy-settings.js";

/** A Deployment in the cluster, as far as it is read here. */
export interface LiveDeployment {
  readonly metadata: {
    readonly generation?: number;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: {
      readonly spec?: { readonly containers?: readonly { readonly name: string; readonly image?: string }[] };
    };
  };
  readonly status?: DeploymentStatus;
}

export interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly availableReplicas?: number;
  readonly conditions?: readonly DeploymentCondition[];
}

interface DeploymentCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The image that the proxy gets now. */
export interface ProxyRollout {
  readonly image: string;
  /** Of the Deployment: what the next decision needs to know. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The image that is asked for, if it did not become available and another one runs in its place. */
  readonly refusedImage?: string;
}

/**
 * The image that is asked for, unless it has failed: then the last one that was available. The Deployment itself carries what is known, so that any
 * replica of the operator decides alike. A failed image is tried again when another one was asked for in between, or its annotation is removed.
 *
 * @param live undefined if there is no Deployment
 */
export function proxyRollout(wantedImage: string, live: LiveDeployment | undefined): ProxyRollout {
  const current = live === undefined ? undefined : imageOf(live);
  const known = live?.metadata.annotations ?? {};
  const isComplete = live !== undefined && isRolledOut(live);
  const before = known[proxyAnnotations.availableImage];
  // Another image than the one asked for may be one that others wrote, and that is to be put back.
  const available = isComplete && (current === wantedImage || before === undefined) ? current : before;
  // Of an image whose Pods a quota or a policy refuses, nothing is known.
  const isTried = live !== undefined && podRefusal(live) === undefined;
  const hasFailed = isTried && current === wantedImage && hasStalled(live);
  const isRefused = hasFailed || known[proxyAnnotations.refusedImage] === wantedImage;
  const kept = available === undefined ? {} : { [proxyAnnotations.availableImage]: available };
  if (!isRefused || available === undefined || available === wantedImage)
    return { image: wantedImage, annotations: kept };
  return {
    image: available,
    annotations: { ...kept, [proxyAnnotations.refusedImage]: wantedImage },
    refusedImage: wantedImage,
  };
}

/** True if the API server has given up to wait for new Pods of this version of the Deployment. */
export function hasStalled({ metadata, status = {} }: LiveDeployment): boolean {
  return isObserved(metadata, status) && progressReason(status, "False") === "ProgressDeadlineExceeded";
}

/** Why the API server refuses Pods of this version of the Deployment: a quota, a policy, a LimitRange. Undefined if it does not. */
export function podRefusal({ metadata, status = {} }: LiveDeployment): string | undefined {
  if (!isObserved(metadata, status)) return undefined;
  const isRefusal = (each: DeploymentCondition): boolean =>
    each.type === "ReplicaFailure" && each.status === "True" && each.reason === "FailedCreate";
  return status.conditions?.find(isRefusal)?.message?.replace(nameOfPod, "");
}

/** With the name of a Pod, the message would be another one each time that the ReplicaSet tries again. */
const nameOfPod = /^pods? "[^"]*" is (forbidden|invalid): /i;

/** True if all Pods are of this version and available. */
export function isRolledOut({ metadata, spec, status = {} }: LiveDeployment): boolean {
  const { replicas = 1 } = spec ?? {};
  const { updatedReplicas = 0, availableReplicas = 0 } = status;
  return (
    isObserved(metadata, status) &&
    replicas > 0 &&
    updatedReplicas === replicas &&
    status.replicas === replicas &&
    availableReplicas === replicas
  );
}

function isObserved(
  { generation = 0 }: LiveDeployment["metadata"],
  { observedGeneration = -1 }: DeploymentStatus,
): boolean {
  return observedGeneration >= generation;
}

function progressReason({ conditions = [] }: DeploymentStatus, isProgressing: string): string | undefined {
  return conditions.find(({ type, status }) => type === "Progressing" && status === isProgressing)?.reason;
}

function imageOf({ spec }: LiveDeployment): string | undefined {
  return spec?.template?.spec?.containers?.find(({ name }) => name === proxyNames.container)?.image;
}
