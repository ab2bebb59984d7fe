import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Identity } from "@bunting/identity";
import { answerPage, authorizationOf, requestPeer } from "@bunting/server";
import type { Admitted } from "../access/access.js";
import type { PagePath } from "../access/access-metrics.js";
import type { PageAccess } from "../access/page-access.js";
import { ProxyError, type ProxyErrorCode } from "../proxy-error.js";

/** Serves a page to callers that may read it; others get 401, 403 or 503 with the reason in a sentence. */
export function guardPage(
  access: Pick<PageAccess, "admit" | "watch">,
  path: PagePath,
  page: RequestListener,
): RequestListener {
  return (request, response) => {
    access.admit(presentedBy(request), path).then(
      (identity) => serve(identity, request, response),
      (error: unknown) => refuse(response, error),
    );
  };

  function serve(
    identity: Identity,
    request: IncomingMessage,
    response: ServerResponse & { req: IncomingMessage },
  ): void {
    if (response.destroyed) return;
    const answer: Admitted = { refuse: () => response.destroy() };
    const stopWatching = access.watch(identity, path, answer);
    response.once("close", stopWatching);
    page(request, response);
  }
}

function presentedBy(request: IncomingMessage): Parameters<PageAccess["admit"]>[0] {
  const { remoteAddress, peerCertificate } = requestPeer(request);
  return {
    authorization: authorizationOf(request),
    address: remoteAddress,
    certificate: peerCertificate,
    connection: request.socket,
  };
}

const statusOf: Readonly<Partial<Record<ProxyErrorCode, number>>> = {
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  ACCESS_UNDECIDED: 503,
};

function refuse(response: ServerResponse, error: unknown): void {
  if (response.destroyed) return;
  const status = (error instanceof ProxyError ? statusOf[error.code] : undefined) ?? 500;
  const text = status === 500 ? "The caller can't be identified" : (error as Error).message;
  if (status === 401) response.setHeader("www-authenticate", 'Bearer realm="bunting"');
  if (status === 503) response.setHeader("retry-after", "1");
  answerPage(response, status, "text/plain; charset=utf-8", `${text}.\n`);
}
