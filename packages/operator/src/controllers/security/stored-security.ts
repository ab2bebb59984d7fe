import type { KubeObject } from "@bunting/kube";
import { securityStates, type Security } from "../../desired/proxy-security/security-state.js";
import { managedLabels } from "../../desired/managed-labels.js";

/** The ConfigMap of the operator's namespace that says how far the proxy's security is: for its replicas, and for people. */
export const securityConfigMapName = "bunting-proxy-security";

/** With what it waits for, in a sentence; empty if for nothing. */
export interface StoredSecurity extends Security {
  readonly waitsFor: string;
}

/** Undefined if somebody else has written it. */
export function readSecurity(object: KubeObject): StoredSecurity | undefined {
  const { data = {} } = object as { readonly data?: Readonly<Record<string, string>> };
  const state = securityStates.find((each) => each === data["state"]);
  const sinceMs = Date.parse(data["since"] ?? "");
  if (state === undefined || Number.isNaN(sinceMs)) return undefined;
  return { state, sinceMs, waitsFor: data["waitsFor"] ?? "" };
}

export function securityConfigMap(
  namespace: string,
  { state, sinceMs, waitsFor }: StoredSecurity,
  resourceVersion: string | undefined,
): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: securityConfigMapName,
      namespace,
      labels: managedLabels,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    data: { state, since: new Date(sinceMs).toISOString(), waitsFor },
  };
}
