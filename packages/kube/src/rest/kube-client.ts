import type { Readable } from "node:stream";
import type { KubeObject, ResourceScope } from "./resource.js";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** One page of a LIST, without its objects. */
export interface ListPage {
  readonly resourceVersion: string;
  /** Set while there are more pages. */
  readonly continueToken: string | undefined;
  /** How many objects it had, and the bytes of their JSON. */
  readonly items: number;
  readonly bytes: number;
}

/** What the reflector and the proxy need of the API server, implemented by `RestClient`. Every method throws KubeError only. */
export interface KubeClient {
  /**
   * Reads one page. `query` carries resourceVersion, limit, continue and so on; the scope's name becomes a fieldSelector. Each object is
   * passed on as soon as it has arrived, also if the rest fails: no page is in memory as a whole, and other work goes on in between.
   */
  readPage(
    scope: ResourceScope,
    query: Query,
    onObject: (object: KubeObject) => void,
    signal: AbortSignal,
  ): Promise<ListPage>;
  /**
   * Opens a watch. Resolves with its body once the API server has answered 200: one JSON object per line, `{"type", "object"}`. The
   * caller must read it to the end or destroy it. `isGuess` is true while nothing is known to exist in the scope: such watches do not
   * share a connection with others, as far as possible.
   */
  watch(scope: ResourceScope, query: Query, signal: AbortSignal, isGuess?: () => boolean): Promise<Readable>;
  /** Asks by SelfSubjectAccessReview whether our own token may do this. */
  isAllowed(verb: string, scope: ResourceScope, signal: AbortSignal): Promise<boolean>;
}
