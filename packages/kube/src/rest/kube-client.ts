import type { Readable } from "node:stream";
import type { WatchPriority } from "../watch-priority.js";
import type { KubeObject, ResourceScope } from "./resource.js";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** One page of a LIST, without its objects. */
export interface ListPage {
  readonly resourceVersion: string;
  /** Set while there are more pages. */
  readonly continueToken: string | undefined;
  /** Number of objects, and the bytes of their JSON. */
  readonly items: number;
  readonly bytes: number;
}

/** The part of the API that reflectors and the proxy need; `RestClient` implements it. Methods throw only KubeError. */
export interface KubeClient {
  /**
   * Reads one page. `query` carries resourceVersion, limit, continue and so on; the scope's name becomes a
   * fieldSelector. Each object is passed on as soon as it has arrived, even if the rest fails: no page is in memory
   * as a whole, and other work goes on in between.
   */
  readPage(
    scope: ResourceScope,
    query: Query,
    onObject: (object: KubeObject) => void,
    signal: AbortSignal,
  ): Promise<ListPage>;
  /**
   * Opens a watch. Resolves with the body once the API server has answered 200: one JSON object per line,
   * `{"type", "object"}`. The caller must read the body to the end or destroy it. Speculative watches do not share
   * a connection with normal ones, as far as possible.
   *
   * @param priority `normal` if absent
   */
  watch(
    scope: ResourceScope,
    query: Query,
    signal: AbortSignal,
    priority?: () => WatchPriority,
  ): Promise<Readable>;
  /** Asks by SelfSubjectAccessReview whether our own token may do this. */
  isAllowed(verb: string, scope: ResourceScope, signal: AbortSignal): Promise<boolean>;
}
