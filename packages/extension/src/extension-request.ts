import type { JsonObject, JsonValue } from "@bunting/protocol";

/**
 * When an extension is asked: `pre-create` before the operator makes or changes an object, `lint` when somebody writes a FeatureFlag or checks one with
 * `bunting lint --extensions`.
 */
export const extensionHooks = ["pre-create", "lint"] as const;
export type ExtensionHook = (typeof extensionHooks)[number];

/** What an extension is asked about; `lint` is of FeatureFlags only, and `pre-create` of all others. */
export const extensionTargets = ["Sidecar", "Proxy", "Flagd", "FeatureFlag"] as const;
export type ExtensionTarget = (typeof extensionTargets)[number];

export const extensionOperations = ["CREATE", "UPDATE"] as const;
export type ExtensionOperation = (typeof extensionOperations)[number];

/** The audience of the token that the operator presents. */
export const extensionAudience = "bunting-extension";

/** No request and no answer is longer, in bytes. */
export const maxExtensionBytes = 1_000_000;

/** The body of a POST to an extension. Equal questions have equal answers: the operator keeps an answer for minutes, and asks again only then. */
export interface ExtensionRequest {
  /** Another one for each call. An answer must not depend on it. */
  readonly uid: string;
  readonly hook: ExtensionHook;
  readonly target: ExtensionTarget;
  readonly operation: ExtensionOperation;
  /** True if nothing is written, whatever the answer: an extension that does more than answer leaves that out. */
  readonly dryRun: boolean;
  /** The namespace that the object is in. */
  readonly namespace: ExtensionNamespace;
  readonly object: ExtensionObject;
  /** What the application has for this extension, parsed: see `configurationAnnotation`. Absent if it has nothing. */
  readonly configuration?: JsonValue;
}

export interface ExtensionNamespace {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** An object of Kubernetes, such as the Deployment of a proxy, or a `SidecarObject`. */
export interface ExtensionObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ExtensionObjectMetadata;
}

export interface ExtensionObjectMetadata extends JsonObject {
  readonly name: string;
}

/**
 * The annotation that has JSON for the extension of that name: of a FeatureFlagSource, a Flagd or a FeatureFlag, and if that has none, of its
 * namespace.
 */
export function configurationAnnotation(extension: string): string {
  return `${configurationPrefix}${extension}`;
}

export const configurationPrefix = "extensions.bunting.dev/";
