import type { IncomingHttpHeaders } from "node:http";
import { group, plural, version } from "./flag-object.js";
import type { Selection } from "./object-store.js";

/** `watchlist` is a watch that asks for the initial events itself (`sendInitialEvents=true`). */
export type RequestKind = "list" | "watch" | "watchlist" | "review" | "other";

/** The parts of a request that matter to tests. */
export interface ApiRequest {
  readonly kind: RequestKind;
  readonly method: string;
  /** Path and query, as received. */
  readonly uri: string;
  readonly query: URLSearchParams;
  /** From the path. */
  readonly namespace: string | undefined;
  /** From the fieldSelector `metadata.name=`. */
  readonly name: string | undefined;
  /** What the path and the fieldSelector select together. */
  readonly selection: Selection;
  /** A term of the fieldSelector that custom resources do not know. */
  readonly unknownField: string | undefined;
  readonly token: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

const collection = new RegExp(`^/apis/${group}/${version}(?:/namespaces/([^/]+))?/${plural}$`);
const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

export function readRequest(method: string, uri: string, headers: IncomingHttpHeaders): ApiRequest {
  const { pathname, searchParams: query } = new URL(uri, "https://api");
  const path = collection.exec(pathname);
  const namespace = path?.[1] === undefined ? undefined : decodeURIComponent(path[1]);
  const fields = new Map<string, string>();
  // As in the real one, a selector is plain text: `a,metadata.namespace=kube-system` is two terms.
  for (const term of (query.get("fieldSelector") ?? "").split(",").filter((text) => text !== "")) {
    const [field = "", value = ""] = term.split(/==?/);
    fields.set(field, value);
  }
  const name = fields.get("metadata.name");
  const unknownField = [...fields.keys()].find((field) => !/^metadata\.(name|namespace)$/.test(field));
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
  return {
    kind: kindOf(method, pathname, path !== null, query),
    method,
    uri,
    query,
    namespace,
    name,
    selection: { namespace, name, fieldNamespace: fields.get("metadata.namespace") },
    unknownField,
    token,
    headers,
  };
}

function kindOf(
  method: string,
  pathname: string,
  isCollection: boolean,
  query: URLSearchParams,
): RequestKind {
  if (method === "POST" && pathname === reviews) return "review";
  if (method !== "GET" || !isCollection) return "other";
  if (!["1", "true"].includes(query.get("watch") ?? "")) return "list";
  return query.get("sendInitialEvents") === "true" ? "watchlist" : "watch";
}

/** Selects requests or open watches; an empty one selects all. `watch` includes `watchlist`. */
export interface Match {
  readonly kind?: RequestKind;
  /** `null`: only those of all namespaces. */
  readonly namespace?: string | null;
  /** `null`: only those of a whole namespace, or of all. */
  readonly name?: string | null;
  readonly where?: (request: ApiRequest) => boolean;
}

export function matches(match: Match, request: ApiRequest): boolean {
  const { kind, namespace, name, where } = match;
  const isKind =
    kind === undefined || kind === request.kind || (kind === "watch" && request.kind === "watchlist");
  return (
    isKind &&
    (namespace === undefined || (namespace ?? undefined) === request.namespace) &&
    (name === undefined || (name ?? undefined) === request.name) &&
    (where === undefined || where(request))
  );
}
