import type { ExtensionHook, ExtensionTarget } from "@bunting/extension";
import type { Condition, LabelSelector } from "@bunting/kube";

/** Has somebody's service asked before the operator makes something, or about FeatureFlags. It is an object of the cluster. */
export interface Extension {
  readonly apiVersion: typeof extensionApiVersion;
  readonly kind: "Extension";
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly creationTimestamp?: string;
    readonly [field: string]: unknown;
  };
  readonly spec: ExtensionSpec;
  readonly status?: ExtensionStatus;
}

export const extensionApiVersion = "bunting.dev/v1alpha1";

export const extensionType = {
  group: "bunting.dev",
  version: "v1alpha1",
  plural: "extensions",
  isClusterScoped: true,
} as const;

/** As stored: the API server has filled in the defaults. */
export interface ExtensionSpec {
  readonly hooks: readonly ExtensionHook[];
  readonly objects: readonly ExtensionTarget[];
  /** Either this, or `url`. */
  readonly service?: ExtensionService;
  readonly url?: string;
  /** Certificates of authorities in PEM form; those of the system if it is absent. */
  readonly caBundle?: string;
  readonly timeout: string;
  readonly failurePolicy: "Fail" | "Ignore";
  readonly namespaceSelector?: LabelSelector;
  /** JSON pointers to what it may change. */
  readonly mutates?: readonly string[];
  readonly priority: number;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  readonly categories?: readonly string[];
  readonly maintainer?: string;
  readonly repository?: string;
}

export interface ExtensionService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly path: string;
}

export interface ExtensionStatus {
  readonly observedGeneration?: number;
  /** Its place among all, from 1. */
  readonly order?: number;
  /** Whose edge is left out, and the way around. */
  readonly cycle?: string;
  readonly lastError?: string;
  readonly conditions?: readonly Condition[];
}
