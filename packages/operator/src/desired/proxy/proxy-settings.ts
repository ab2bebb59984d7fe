import { proxyServiceName } from "@bunting/featureflags/resources";
import { managedLabels } from "../managed-labels.js";
import type { ProxyAccess } from "../proxy-security/security-state.js";
import type { RedisSecret } from "./proxy-redis.js";

/** What the operator decides about the proxy. */
export interface ProxySettings {
  /** The operator's own namespace. */
  readonly namespace: string;
  /** With its tag or digest. */
  readonly image: string;
  /** At least 1; other managers may scale the Deployment. */
  readonly replicas: number;
  readonly ports: ProxyPorts;
  readonly debugLogging: boolean;
  /** Further options of the proxy by their names without dashes, other than port, management-port and debug. */
  readonly options: Readonly<Record<string, string>>;
  readonly pod: ProxyPodSettings;
  /** Whether its Pods name their user; default true. OpenShift chooses the users of a namespace itself. */
  readonly choosesUser?: boolean;
  /** Whether it tells the operator how many agents have what, by a token. */
  readonly tellsAgents: boolean;
  /** Whether only Pods of the cluster reach the proxy. */
  readonly hasNetworkPolicy: boolean;
  /** Whether sidecars are in Pods that use the network of their node. */
  readonly hasNodeClients?: boolean;
  /** Whether the operator is in one. */
  readonly isOnNode?: boolean;
  /** What its replicas share; absent if each watches for itself, or `options` say what. */
  readonly redis?: RedisSecret;
  /** Whom it serves; absent: everybody, in plaintext. */
  readonly access?: ProxyAccess;
  /** Whether callers with a token may read all FeatureFlags, as the operator's rules of other namespaces have it. */
  readonly authorizesAll?: boolean;
}

export interface ProxyPorts {
  readonly sync: number;
  readonly management: number;
}

/** What all Pods that the operator makes have in common, and the proxy's ServiceAccount. */
export interface ProxyPodSettings {
  /** It has to exist; the operator grants nothing. */
  readonly serviceAccountName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly imagePullSecrets: readonly string[];
}

/** The names of the open-feature-operator's objects, so that it finds them on the way back. */
export const proxyNames = Object.freeze({
  deployment: "flagd-proxy",
  container: "flagd-proxy",
  service: proxyServiceName,
  disruptionBudget: "flagd-proxy-pdb",
  networkPolicy: "flagd-proxy",
  statusTokens: "flagd-proxy-status",
});

/** The selector of the Deployment, which is immutable. */
export const deploymentSelector = Object.freeze({ app: proxyNames.deployment });

/** The selector of everything else that is about the proxy's Pods. */
export const podSelector = Object.freeze({
  "app.kubernetes.io/name": proxyNames.deployment,
  ...managedLabels,
});

/** The names of container ports, which probes refer to. */
export const portNames = Object.freeze({ sync: "port", management: "management-port" });
