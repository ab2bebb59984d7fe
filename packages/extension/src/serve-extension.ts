import {
  createServer as createPlainServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { boundedBytes } from "@bunting/protocol";
import { answerRequest, type HookResponse } from "./answer-request.js";
import { maxExtensionBytes } from "./extension-request.js";
import type { ExtensionHooks } from "./hooks.js";
import { CertificateFiles } from "./certificate-files.js";

export interface ServeOptions {
  /** Default: the variable PORT, and 8080 without one, or 8443 with `tls`. 0 takes any free port. */
  readonly port?: number;
  /** The address to listen on. Default: all of the machine. */
  readonly host?: string;
  /** Files in PEM form; a new certificate is taken within a minute. Without them, the extension is served over plain HTTP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /**
   * Decides by the token of a request, whose audience is `bunting-extension`, whether it is answered; it gets "" if there is none. Default: everybody is
   * answered, because a hook tells nothing that its caller does not know.
   */
  readonly authenticate?: (token: string) => boolean | Promise<boolean>;
  /** Is told of errors of hooks. Default: console.error. */
  readonly report?: (error: unknown) => void;
  /** Ends the server when it is aborted. Default: SIGTERM and SIGINT end it. */
  readonly signal?: AbortSignal;
}

export interface ServedExtension {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Resolves once the server has ended, and all requests that it had taken are answered. */
  readonly ended: Promise<void>;
}

/** How long a request may take to arrive. The operator waits 10 s at most. */
const requestMs = 10_000;

/**
 * Serves hooks at every path, and `/healthz` and `/readyz` for probes. Resolves once it listens. A request that is too large, that takes too long to
 * arrive, or that is none ends with a status, and a hook that fails with 500: none ends the server.
 */
export async function serveExtension(
  hooks: ExtensionHooks,
  options: ServeOptions = {},
): Promise<ServedExtension> {
  const { tls, report = console.error, authenticate = () => true } = options;
  const listener: RequestListener = (request, response) => {
    respond(request, { hooks, report, authenticate })
      .catch((error: unknown): HookResponse => {
        report(error);
        return { status: 500 };
      })
      .then(({ status, body }) => {
        // Whoever sent too much may still be sending, and nothing more is taken from a connection of a server that ends.
        if (!request.complete || !server.listening) response.setHeader("connection", "close");
        if (body !== undefined) response.setHeader("content-type", "application/json");
        response.writeHead(status).end(body);
      }, report);
  };
  const files = tls === undefined ? undefined : new CertificateFiles(tls, report);
  const server = files === undefined ? createPlainServer(listener) : createServer(files.read(), listener);
  server.requestTimeout = requestMs;
  server.headersTimeout = requestMs;
  const port = options.port ?? portOf(process.env["PORT"]) ?? (files === undefined ? 8080 : 8443);
  await listen(server, port, options.host);
  files?.follow((context) => {
    if ("setSecureContext" in server) server.setSecureContext(context);
  });
  const ended = end(server, options.signal).finally(() => files?.close());
  return { url: urlOf(server, files === undefined ? "http" : "https", options.host), ended };
}

interface Answering {
  readonly hooks: ExtensionHooks;
  readonly report: (error: unknown) => void;
  readonly authenticate: NonNullable<ServeOptions["authenticate"]>;
}

async function respond(request: IncomingMessage, answering: Answering): Promise<HookResponse> {
  const { method, headers } = request;
  const isProbe = method === "GET" && /^\/(healthz|readyz)$/.test(request.url ?? "");
  if (isProbe) return { status: 200 };
  if (method !== "POST") return { status: 405 };
  const [, token = ""] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
  if (!(await answering.authenticate(token))) return { status: 401 };
  if (Number(headers["content-length"] ?? 0) > maxExtensionBytes) return { status: 413 };
  const body = await boundedBytes(request, maxExtensionBytes);
  if (body === undefined) return { status: 413 };
  return answerRequest(body.toString(), answering.hooks, answering.report);
}

function portOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}

function listen(server: Server, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.removeListener("error", reject);
      resolve();
    });
  });
}

function end(server: Server, signal: AbortSignal = endOfProcess()): Promise<void> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return new Promise((resolve) => {
    const close = (): void => {
      server.close(() => resolve());
      server.closeIdleConnections();
      // For node, a connection on which nothing came is not idle, and once it has closed it waits for what comes too slowly without end.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      const late = setTimeout(() => sockets.forEach((socket) => socket.destroy()), requestMs);
      server.once("close", () => clearTimeout(late));
    };
    if (signal.aborted) close();
    else signal.addEventListener("abort", close, { once: true });
  });
}

function endOfProcess(): AbortSignal {
  const ending = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => ending.abort());
  return ending.signal;
}

function urlOf(server: Server, scheme: string, host = "localhost"): string {
  const { port } = server.address() as AddressInfo;
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
