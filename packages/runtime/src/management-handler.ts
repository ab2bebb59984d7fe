import type { RequestListener, ServerResponse } from "node:http";
import { posix } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Registry } from "prom-client";
import { metricsText } from "./metrics-text.js";
import { nextTurn } from "./scheduling/event-loop.js";

/** Readiness of a process, with the reason if it is not ready. */
export interface Readiness {
  readonly isReady: boolean;
  /** A sentence: why it is not ready, or what is stale although it is ready. */
  readonly reason: string;
}

/**
 * Serves /healthz, /readyz and /metrics as flagd and flagd-proxy do: 412 means not ready. /healthz answers as long as the event loop runs.
 *
 * @param options.notStarted why /healthz answers 412 as well, which only a program that still starts may say; undefined once it has started.
 * @param options.pages further pages by path, for GET and HEAD only.
 * @param options.onMetrics called when metrics were written to a response, with their size: it may be minutes until the client has read them.
 * @param options.guardMetrics makes, of what serves /metrics, what serves it only to those who may read it.
 */
export function managementHandler(
  readiness: () => Readiness,
  registry: Registry,
  options: {
    readonly notStarted?: () => string | undefined;
    readonly pages?: ReadonlyMap<string, RequestListener>;
    readonly onMetrics?: (response: ServerResponse, bytes: number) => void;
    readonly guardMetrics?: (serve: RequestListener) => RequestListener;
  } = {},
): RequestListener {
  const { onMetrics, guardMetrics = (serve: RequestListener): RequestListener => serve } = options;
  const sharedZip = zippedMetrics(registry);
  let text: Promise<Buffer[]> | undefined;
  // Once in a turn of the event loop, for all that ask in it: to make it takes milliseconds, which a probe behind them would wait for.
  const sharedText = (): Promise<Buffer[]> =>
    (text ??= nextTurn().then(() => {
      text = undefined;
      return metricsText(registry);
    }));
  const metrics: RequestListener = (request, response) => {
    const isZipped = acceptedGzip.test(String(request.headers["accept-encoding"]));
    (isZipped ? sharedZip() : sharedText()).then(
      (slices) => {
        if (response.destroyed) return;
        if (isZipped) response.setHeader("content-encoding", "gzip");
        answerSlices(response, slices, `${registry.contentType}; escaping=underscores`);
        onMetrics?.(response, bytesOf(slices));
      },
      (error: unknown) => answer(response, 500, `metrics can't be read: ${String(error)}\n`),
    );
  };
  const pages = new Map<string, RequestListener>([
    ["/metrics", guardMetrics(metrics)],
    ...(options.pages ?? []),
  ]);
  const paths = ["/healthz", "/readyz", ...pages.keys()];
  const hint = `There is ${paths.slice(0, -1).join(", ")} and ${paths.at(-1) ?? ""}.\n`;
  return (request, response) => {
    const path = request.url?.split("?", 1)[0] ?? "";
    const page = pages.get(path);
    const isProbe = path === "/healthz" || path === "/readyz";
    if (page === undefined && !isProbe) {
      const shortest = posix.normalize(path);
      if (shortest === path || !path.startsWith("/")) answer(response, 404, hint);
      else redirect(response, `${shortest}${request.url?.slice(path.length) ?? ""}`);
    } else if (!isProbe && request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      answer(response, 405, "Use GET.\n");
    } else if (page !== undefined) page(request, response);
    else if (path === "/healthz") {
      const reason = options.notStarted?.();
      answer(response, reason === undefined ? 200 : 412, `${reason ?? "ok"}\n`);
    } else if (path === "/readyz") {
      const { isReady, reason } = readiness();
      answer(response, isReady ? 200 : 412, `${reason}\n`);
    }
  };
}

/** As Go's router does: a path that is not in its shortest form has another one. */
function redirect(response: ServerResponse, shortest: string): void {
  // Browsers read a backslash as a slash, and `//` as the beginning of another host's address.
  const location = shortest.replaceAll("\\", "%5C");
  response.setHeader("location", location);
  answer(
    response,
    307,
    // Encoded content stays as it is.
    `<a href="${encodeURI(location).replaceAll("%25", "%")}">Temporary Redirect</a>.\n`,
    "text/html; charset=utf-8",
  );
}

/** An Accept-Encoding that names gzip, with any weight but 0, which refuses it (RFC 9110 12.4.2). */
const acceptedGzip = /(?:^|,)[ \t]*gzip[ \t]*(?:$|,|;[ \t]*q=(?!0(?:\.0*)?[ \t]*(?:$|,)))/i;

const zip = promisify<Buffer, { level: number }, Buffer>(gzip);

/**
 * Metrics for those that accept gzip, as Prometheus does: one after the other, each for all that have asked before it was begun. Each takes 256 KB
 * outside of V8's heap, which are on nobody's account, and hundreds of requests for them fit into a packet.
 */
function zippedMetrics(registry: Registry): () => Promise<Buffer[]> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<Buffer[]> | undefined;
  const make = async (after: Promise<unknown>): Promise<Buffer[]> => {
    await after;
    await nextTurn();
    next = undefined;
    return [await zip(Buffer.concat(await metricsText(registry)), { level: 1 })];
  };
  return () => {
    if (next === undefined) {
      next = make(last);
      // Waiting requests are answered.
      last = next.catch(() => undefined);
    }
    return next;
  };
}

function answer(
  response: ServerResponse,
  status: number,
  body: string,
  type = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(response.req.method === "HEAD" ? undefined : body);
}

function answerSlices(response: ServerResponse, slices: readonly Buffer[], type: string): void {
  response.writeHead(200, { "content-type": type, "content-length": bytesOf(slices) });
  if (response.req.method !== "HEAD") for (const slice of slices) response.write(slice);
  response.end();
}

function bytesOf(slices: readonly Buffer[]): number {
  return slices.reduce((bytes, slice) => bytes + slice.length, 0);
}
