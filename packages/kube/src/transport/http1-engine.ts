import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { ConnectionOptions } from "node:tls";
import { KubeError } from "../kube-error.js";
import { abortedError, kubeErrorOf } from "./foreign-error.js";
import type { KubeRequest, KubeResponse } from "./kube-transport.js";
import { ResponseBody } from "./response-body.js";
import type { SecureDial } from "./secure-dial.js";
import type { TransportContext } from "./transport-options.js";

export type Http1Request = Pick<KubeRequest, "method" | "path" | "body"> & {
  readonly headers: Readonly<Record<string, string>>;
  readonly headerTimeoutMs: number;
};

const agentOptions = { keepAlive: true, keepAliveMsecs: 30_000 };

/**
 * For servers without HTTP/2: `kubectl proxy`, and proxies that terminate TLS. Each request has a connection, which is kept for the next
 * one. There is no PING: a dead connection is found by TCP keepalive, and by reflectors that miss bookmarks.
 */
export class Http1Engine {
  readonly #server: URL;
  readonly #dial: SecureDial;
  readonly #context: TransportContext;
  /** Functions that end the requests under way. */
  readonly #active = new Set<(error: KubeError) => void>();
  readonly #plainAgent = new HttpAgent(agentOptions);
  #secure: { readonly options: ConnectionOptions; readonly agent: HttpsAgent } | undefined;

  constructor(server: URL, dial: SecureDial, context: TransportContext) {
    this.#server = server;
    this.#dial = dial;
    this.#context = context;
  }

  async request(request: Http1Request, signal: AbortSignal): Promise<KubeResponse> {
    const send = await this.#sender(request);
    const sent = send();
    try {
      return await this.#exchange(sent, request, signal);
    } catch (error) {
      // The server closed a kept connection just as it was used again.
      const isStale = sent.reusedSocket && error instanceof KubeError && error.code === "CONNECTION_LOST";
      if (!isStale || request.method !== "GET") throw error;
      return this.#exchange(send(), request, signal);
    }
  }

  /** Ends every request with ABORTED, and closes all connections. */
  close(): void {
    for (const end of [...this.#active]) end(abortedError());
    this.#plainAgent.destroy();
    this.#secure?.agent.destroy();
  }

  async #sender({ method, path, headers, body }: Http1Request): Promise<() => ClientRequest> {
    const length = body === undefined ? {} : { "content-length": String(body.length) };
    const options = { method, path, headers: { ...headers, ...length } };
    if (this.#server.protocol === "http:")
      return () => httpRequest(this.#server, { ...options, agent: this.#plainAgent });
    const tls = await this.#dial.options();
    if (this.#secure?.options !== tls) {
      if (this.#secure !== undefined) retire(this.#secure.agent);
      this.#secure = { options: tls, agent: new HttpsAgent({ ...agentOptions, ...tls }) };
    }
    const { agent } = this.#secure;
    return () => httpsRequest({ ...options, ...tls, agent });
  }

  #exchange(sent: ClientRequest, request: Http1Request, signal: AbortSignal): Promise<KubeResponse> {
    const { clock, server } = this.#context;
    const active = this.#active;
    return new Promise((resolve, reject) => {
      const detach = (): void => {
        stopTimer();
        active.delete(fail);
        signal.removeEventListener("abort", onAbort);
      };
      const fail = (error: KubeError): void => {
        detach();
        sent.destroy();
        reject(error);
      };
      const onAbort = (): void => fail(abortedError(signal.reason));
      const stopTimer = clock.after(request.headerTimeoutMs, () =>
        fail(new KubeError("TIMEOUT", `${server} did not answer within ${request.headerTimeoutMs} ms`)),
      );
      active.add(fail);
      sent.on("error", (error) => fail(kubeErrorOf(error, server)));
      sent.once("response", (message: IncomingMessage) => {
        detach();
        const body = new ResponseBody(message, {
          server,
          signal,
          isComplete: () => message.complete,
          abandon: () => sent.destroy(),
        });
        const end = (error: KubeError): void => void body.destroy(error);
        active.add(end);
        body.once("close", () => active.delete(end));
        resolve({ status: message.statusCode ?? 0, headers: message.headers, body });
      });
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      sent.end(request.body);
    });
  }
}

/** Lets requests under way end, and keeps no connection for later. */
function retire(agent: HttpsAgent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}
