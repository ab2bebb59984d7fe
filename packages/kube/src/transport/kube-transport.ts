import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

/** One HTTP request to the API server; the transport adds authentication. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /**
   * A `watch` stays open, shares its session with other watches and may be silent for any time; a `call` is short and never shares a
   * session with watches: a 401 makes the API server end the session it came on.
   */
  readonly kind: "watch" | "call";
  /**
   * True while nothing is known to exist in the scope of a watch: a peer may have guessed its name. Guesses have sessions apart from other
   * watches as far as possible, because node reads nothing from a session while it writes to it: each request delays every event.
   */
  readonly isGuess?: (() => boolean) | undefined;
}

/** An answer whose head has arrived, whatever its status. */
export interface KubeResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * The body as it comes. It errors with a KubeError when the connection breaks, falls silent (PING) or the signal aborts, and ends only
   * when the server ended it. A caller that does not read it to the end must destroy it.
   */
  readonly body: Readable;
}

/** Connections to one API server: TLS, tokens, liveness. It does not know Kubernetes objects. */
export interface KubeTransport {
  /**
   * Resolves once the head of the answer has arrived.
   *
   * @throws KubeError CONNECTION_REFUSED, CONNECTION_LOST, TIMEOUT (no head within the header timeout), PROTOCOL, ABORTED.
   */
  request(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse>;
}
