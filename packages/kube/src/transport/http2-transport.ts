import { setMaxListeners } from "node:events";
import { aborted, type Runnable } from "@bunting/runtime";
import type { ClusterConfig, CredentialHeaders, Credentials } from "../config/cluster-config.js";
import { KubeError } from "../kube-error.js";
import { abortable } from "./abortable.js";
import { abortedError } from "./foreign-error.js";
import { Http1Engine } from "./http1-engine.js";
import { exchange } from "./http2-exchange.js";
import type { KubeRequest, KubeResponse, KubeTransport } from "./kube-transport.js";
import { openSession } from "./open-session.js";
import { SecureDial } from "./secure-dial.js";
import { SessionPool } from "./session-pool.js";
import { StreamResets } from "./stream-resets.js";
import { transportContext, type TransportContext, type TransportOptions } from "./transport-options.js";

/** The most sessions that a request is tried on, because a session may be closing just then. */
const maxTries = 4;
/** Time for which a server that offered only HTTP/1.1 is not asked for HTTP/2 again. */
const http1ForMs = 300_000;

/**
 * The connections to one API server over node:http2, or over HTTP/1.1 where the server has nothing better.
 *
 * Invariants:
 * - Watches share sessions, each with as many streams as the server allows. Speculative watches are kept apart from normal
 *   ones (`SessionPool`).
 * - Calls have sessions of their own, because a 401 makes the API server end its session.
 * - After a 401 the token is read again. If it has changed, the request is sent once more; else the 401 is the answer.
 * - Sessions are opened on demand and closed when idle; all of them end with `run` or `close`.
 */
export class Http2Transport implements KubeTransport, Runnable {
  readonly name = "kubernetes transport";
  readonly #credentials: Credentials;
  readonly #server: URL;
  readonly #basePath: string;
  readonly #context: TransportContext;
  readonly #pools: Readonly<Record<KubeRequest["kind"], SessionPool>>;
  readonly #http1: Http1Engine;
  readonly #resets: StreamResets;
  #http1UntilMs: number;
  #isClosed = false;

  constructor(config: ClusterConfig, options: TransportOptions = {}) {
    const { server, credentials, tls } = config;
    const context = transportContext(server, options);
    const dial = new SecureDial(server, tls);
    const open = (signal: AbortSignal): ReturnType<typeof openSession> =>
      openSession(server, dial, context, signal);
    this.#server = server;
    this.#basePath = server.pathname.replace(/\/+$/, "");
    this.#credentials = credentials;
    this.#context = context;
    this.#pools = {
      watch: new SessionPool(open, context),
      call: new SessionPool(open, context),
    };
    this.#http1 = new Http1Engine(server, dial, context);
    this.#resets = new StreamResets(context.clock);
    this.#http1UntilMs = server.protocol === "http:" ? Infinity : 0;
  }

  async request(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> {
    if (this.#isClosed) throw abortedError();
    // Thousands of watches may share one signal: that is no leak.
    setMaxListeners(0, signal);
    const identity = await abortable(this.#credentials.headers(), signal);
    const response = await this.#send(request, identity, signal);
    if (response.status !== 401) return response;
    try {
      if (!(await abortable(this.#credentials.renew(identity), signal))) return response;
    } catch (error) {
      response.body.destroy();
      throw error;
    }
    response.body.destroy();
    return this.#send(request, await abortable(this.#credentials.headers(), signal), signal);
  }

  /** Waits for the abort, then closes everything. */
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    await this.close();
  }

  /** Ends every request with ABORTED. Resolves once all HTTP/2 connections are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#resets.close();
    this.#http1.close();
    this.#credentials.close?.();
    await Promise.all([this.#pools.watch.close(), this.#pools.call.close()]);
  }

  async #send(request: KubeRequest, identity: CredentialHeaders, signal: AbortSignal): Promise<KubeResponse> {
    const { timing, clock, server } = this.#context;
    const { method, body, kind } = request;
    const path = `${this.#basePath}${request.path}`;
    const headers = {
      accept: "application/json",
      "user-agent": this.#context.userAgent,
      ...request.headers,
      ...identity,
    };
    const headerTimeoutMs = kind === "watch" ? timing.watchHeaderTimeoutMs : timing.callHeaderTimeoutMs;
    for (let tries = 0; tries < maxTries; tries++) {
      const isHttp1 = clock.monotonicMs() < this.#http1UntilMs;
      const slot = isHttp1 ? undefined : await this.#pools[kind].acquire(signal, request.priority);
      if (slot === undefined) {
        if (!isHttp1) this.#http1UntilMs = clock.monotonicMs() + http1ForMs;
        const plain = { method, path, headers, headerTimeoutMs };
        return this.#http1.request(body === undefined ? plain : { ...plain, body }, signal);
      }
      const { session } = slot;
      const stream = session.open(
        slot,
        { ":method": method, ":path": path, ":authority": this.#server.host, ":scheme": "https", ...headers },
        body === undefined,
      );
      if (stream === undefined) continue;
      if (body !== undefined) stream.end(body);
      const response = await exchange(stream, {
        context: this.#context,
        headerTimeoutMs,
        signal,
        isConnected: () => !session.isOver,
        onOverdue: () => session.probe(),
        cancel: (unwanted) => this.#resets.reset(unwanted),
      });
      if (response !== "refused") return response;
    }
    throw new KubeError("CONNECTION_LOST", `${server} refused the request on ${maxTries} connections`);
  }
}
