import type { ResourceRequirements } from "@bunting/featureflags/resources";
import type { PodAccess } from "./proxy-security/security-state.js";

/** What the operator decides about all sidecars. */
export interface SidecarSettings {
  /** With its tag or digest. */
  readonly image: string;
  /** For sources that say nothing of their own. */
  readonly resources: ResourceRequirements;
  /** Names of Secrets of the Pod's namespace. */
  readonly imagePullSecrets: readonly string[];
  /** Which variables containers of applications get: what they need to connect, or all that the open-feature-operator gives them. */
  readonly applicationEnv: "connection" | "stock";
  /** Whether Pods that use the network of their node get a sidecar. */
  readonly hostNetworkPods: "skip" | "inject";
  /** Whether sidecars prove to the proxy who they are, and speak TLS with it. */
  readonly proxyAccess: PodAccess;
}
