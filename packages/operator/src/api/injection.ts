import type { EnvironmentVariable } from "@bunting/featureflags/resources";
import type { Container, Volume, VolumeMount } from "./pod-manifest.js";

/** Compiled results for one namespace. Admission looks up the text of a Pod's annotation and patches the Pod with what it finds. */
export interface Injection {
  readonly apiVersion: "bunting.dev/v1alpha1";
  readonly kind: "Injection";
  readonly metadata: { readonly name: InjectionName; readonly namespace: string };
  readonly spec: InjectionSpec;
}

/**
 * The names of the Injections of a namespace. API servers read the first one; where extensions are asked, further ones have what it has no room for, because
 * webhooks compile nothing there.
 */
export const injectionNames = ["bunting", "bunting-1", "bunting-2", "bunting-3"] as const;
export type InjectionName = (typeof injectionNames)[number];
export const [injectionName] = injectionNames;

/** A label of Injections about whose entries extensions were asked. */
export const extendedLabel = "bunting.dev/extended";

/** How objects of the kind begin, and references to them. */
export const injectionHead = { apiVersion: "bunting.dev/v1alpha1", kind: "Injection" } as const;

export const injectionType = { group: "bunting.dev", version: "v1alpha1", plural: "injections" } as const;

/** The form of the entries. The policy skips an Injection of another format, and the webhook injects instead. */
export const injectionFormat = 1;

export interface InjectionSpec {
  readonly format: typeof injectionFormat;
  /**
   * By the text of the annotation `openfeature.dev/featureflagsource`, exactly as Pods carry it; with that of `openfeature.dev/featureflag` as
   * `TEXT;featureflag:TEXT`.
   */
  readonly sources: Readonly<Record<string, InjectionEntry>>;
  /** By the text of the annotation `openfeature.dev/inprocessconfiguration`. */
  readonly inProcess?: Readonly<Record<string, InjectionEntry>>;
  /** Texts of both lists that an extension refuses, and why: Pods with them get nothing. */
  readonly refused?: Readonly<Record<"sources" | "inProcess", Readonly<Record<string, string>>>>;
}

/**
 * What a Pod gets. Everything is complete: admission neither merges nor looks anything up.
 *
 * An entry without a container is for applications that evaluate flags in process: they get variables only.
 */
export interface InjectionEntry {
  /** SHA-256 of the entry's canonical JSON without this field, the first 16 hex digits. */
  readonly digest: string;
  /**
   * A digest of the sources that it is of, without what the operator adds, such as the image of the sidecar: another one restarts workloads that ask
   * for it. Absent in entries without a container.
   */
  readonly origin?: string;
  /**
   * The FeatureFlags that the proxy serves the sidecar, `namespace/name`, in ascending priority: proxies tell running sidecars, which follow it. Absent
   * with `frame` where there are none, or other sources between them.
   */
  readonly flags?: readonly string[];
  /** A digest of the sources in which the FeatureFlags of `flags` are one place: a list of another one is for other Pods. */
  readonly frame?: string;
  /** The value of the label `bunting.dev/agent`: the image's tag or digest as a label value. Empty if there is no sidecar. */
  readonly revision: string;
  readonly container?: Container;
  /** The same sidecar with limits equal to its requests, for Pods of the class Guaranteed. */
  readonly guaranteed?: Container;
  /** Pods that use the network of their node get the sidecar, too. */
  readonly hostNetwork?: true;
  /** Volumes of the Pod. */
  readonly volumes: readonly Volume[];
  /** Variables for each container of the application that does not have one of the name. */
  readonly env: readonly EnvironmentVariable[];
  /** Mounts for each container of the application that has none at the path. */
  readonly mounts: readonly VolumeMount[];
  /** Names of Secrets that the Pod needs to pull the sidecar's image. */
  readonly imagePullSecrets: readonly string[];
  /** Annotations that the Pod gets, beside `bunting.dev/injected`. */
  readonly annotations: Readonly<Record<string, string>>;
}
