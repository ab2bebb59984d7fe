import type { Condition } from "@bunting/kube";
import { cut } from "@bunting/runtime";
import {
  hasStalled,
  podRefusal,
  type LiveDeployment,
  type ProxyRollout,
} from "../../desired/proxy/proxy-rollout.js";
import { maxMessageLength } from "../injection/source-conditions.js";

/** What is known of the proxy. Its messages are sentences for a person. */
export type ProxyState =
  /** Nobody has asked for it yet, or it was removed. */
  | { readonly kind: "absent" }
  | { readonly kind: "deploying" }
  | { readonly kind: "available" }
  /** It has not become available, or runs with another image than the one that is asked for. */
  | { readonly kind: "degraded"; readonly message: string }
  | { readonly kind: "nameTaken"; readonly message: string }
  /** Its objects could not be applied. */
  | { readonly kind: "failed"; readonly message: string };

/** The state of the proxy whose Deployment was applied. */
export function proxyStateOf(live: LiveDeployment, { image, refusedImage }: ProxyRollout): ProxyState {
  if (refusedImage !== undefined) {
    const message = `the image ${refusedImage} did not become available in 5 minutes, so ${image} runs in its place; ask for another image, or remove the annotation bunting.dev/refused-image of the Deployment flagd-proxy to try it again`;
    return { kind: "degraded", message };
  }
  if (live.spec?.replicas === 0) {
    const message =
      "the Deployment flagd-proxy is scaled to no replica, by --proxy-replica-count or by others: sidecars serve what they have, and new ones have no flags";
    return { kind: "degraded", message };
  }
  const { availableReplicas = 0, updatedReplicas = 0 } = live.status ?? {};
  const refusal = podRefusal(live);
  const arePodsOfBefore = refusal !== undefined && updatedReplicas === 0;
  if (availableReplicas > 0 && !arePodsOfBefore) return { kind: "available" };
  if (refusal !== undefined) {
    const meanwhile = availableReplicas > 0 ? "those of before run on" : "workloads start all the same";
    const message = `the API server refuses new Pods of the proxy, which are tried again by themselves, and ${meanwhile}: ${refusal}`;
    return { kind: "degraded", message };
  }
  if (!hasStalled(live)) return { kind: "deploying" };
  const message =
    "no Pod of the proxy became available in 5 minutes; look at the events of the Deployment flagd-proxy and of its Pods";
  return { kind: "degraded", message };
}

const reasons = {
  absent: "NotDeployed",
  deploying: "Progressing",
  available: "Available",
  degraded: "Degraded",
  nameTaken: "NameTaken",
  failed: "ApplyFailed",
} as const;

/** The condition of what uses the proxy. */
export function proxyReadyCondition(
  state: ProxyState,
): Pick<Condition, "type" | "status" | "reason" | "message"> {
  const { kind } = state;
  return {
    type: "ProxyReady",
    status: kind === "available" ? "True" : "False",
    reason: reasons[kind],
    message: messageOf(state),
  };
}

function messageOf(state: ProxyState): string {
  switch (state.kind) {
    case "absent":
      return "the proxy is not deployed yet";
    case "deploying":
      return "no Pod of the proxy is available yet; workloads start all the same";
    case "available":
      return "the proxy is available";
    default:
      // Policies write long ones; a longer condition than we write is not known again.
      return cut(state.message, maxMessageLength);
  }
}
