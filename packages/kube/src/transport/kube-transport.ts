import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { WatchPriority } from "../watch-priority.js";

/** One HTTP request to the API server; the transport adds authentication. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /**
   * A `watch` stays open, shares its session with other watches and may be silent for any time. A `call` is short
   * and never shares a session with watches, because a 401 makes the API server end its session.
   */
  readonly kind: "watch" | "call";
  /**
   * Priority of a watch, `normal` if absent. Speculative watches have sessions of their own as far as possible:
   * node reads nothing from a session while it writes to it, so each request delays every event on its session.
   */
  readonly priority?: (() => WatchPriority) | undefined;
}

/** An answer whose head has arrived, whatever its status. */
export interface KubeResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * The body as it arrives. It fails with a KubeError when the connection breaks, falls silent (PING) or the signal
   * aborts; it ends only when the server ended it. The caller must read it to the end or destroy it.
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
