import type { Readable } from "node:stream";
import type { KubeObject, ResourceScope } from "./resource.js";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** What a LIST answered. */
export interface ObjectList {
  readonly resourceVersion: string;
  /** Set while there are more pages. */
  readonly continueToken: string | undefined;
  readonly items: readonly KubeObject[];
}

/** What the reflector and the proxy need of the API server; `RestClient` is the one there is. Every method throws KubeError only. */
export interface KubeClient {
  /** One page. `query` carries resourceVersion, limit, continue …; the scope's name becomes a fieldSelector. */
  list(scope: ResourceScope, query: Query, signal: AbortSignal): Promise<ObjectList>;
  /**
   * Opens a watch; resolves with its body once the API server answered 200: one JSON object a line, `{"type", "object"}`. The caller
   * reads it to the end or destroys it.
   */
  watch(scope: ResourceScope, query: Query, signal: AbortSignal): Promise<Readable>;
  /** True if our own token may do this, by SelfSubjectAccessReview. */
  isAllowed(verb: string, scope: ResourceScope, signal: AbortSignal): Promise<boolean>;
}
