import type { IncomingMessage } from "node:http";
import type { Cors } from "@bunting/server";

type Headers = Readonly<Record<string, string>>;

const methods: ReadonlySet<string> = new Set([
  "HEAD",
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  // Always allowed.
  "OPTIONS",
]);
/** What scripts may read of an answer, as in flagd. */
const exposed = [
  "Accept",
  "Accept-Encoding",
  "Accept-Post",
  "Connect-Accept-Encoding",
  "Connect-Content-Encoding",
  "Content-Encoding",
  "Grpc-Accept-Encoding",
  "Grpc-Encoding",
  "Grpc-Message",
  "Grpc-Status",
  "Grpc-Status-Details-Bin",
].join(", ");

/** Sent with every answer, so that caches keep the answers to different origins apart. */
export const varyByOrigin: Headers = { vary: "Origin" };
const preflightVary: Headers = {
  vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
};

/**
 * CORS as flagd's rs/cors does it. Each of `origins` (`--cors-origin`) may have one `*`, which stands for any text; an empty list, or `*`
 * alone, allows all origins. All headers are allowed, and no credentials.
 */
export function createCors(origins: readonly string[]): Cors {
  const allowsAll = origins.length === 0 || origins.includes("*");
  const patterns = origins.map(patternOf);
  const allow = (request: IncomingMessage, method: string): Headers | undefined => {
    const { origin = "" } = request.headers;
    if (origin === "" || !methods.has(method)) return undefined;
    if (allowsAll) return { "access-control-allow-origin": "*" };
    const lowerCase = origin.toLowerCase();
    const isAllowed = patterns.some(
      ({ prefix, suffix, isExact }) =>
        lowerCase.startsWith(prefix) &&
        lowerCase.endsWith(suffix) &&
        (isExact ? lowerCase.length === prefix.length : lowerCase.length >= prefix.length + suffix.length),
    );
    return isAllowed ? { "access-control-allow-origin": origin } : undefined;
  };
  return {
    preflight: (request) => {
      const method = request.headers["access-control-request-method"] ?? "";
      if (request.method !== "OPTIONS" || method === "") return undefined;
      const allowed = allow(request, method);
      if (allowed === undefined) return preflightVary;
      const requested = request.headers["access-control-request-headers"] ?? "";
      return {
        ...preflightVary,
        ...allowed,
        "access-control-allow-methods": method,
        ...(requested === "" ? {} : { "access-control-allow-headers": requested }),
      };
    },
    headers: (request) => {
      if (request.headers.origin === undefined) return varyByOrigin;
      const allowed = allow(request, request.method ?? "");
      return allowed === undefined
        ? varyByOrigin
        : { ...varyByOrigin, ...allowed, "access-control-expose-headers": exposed };
    },
  };
}

interface OriginPattern {
  readonly prefix: string;
  readonly suffix: string;
  /** Without a `*`, the prefix is the origin. */
  readonly isExact: boolean;
}

function patternOf(origin: string): OriginPattern {
  const text = origin.toLowerCase();
  const star = text.indexOf("*");
  if (star === -1) return { prefix: text, suffix: "", isExact: true };
  return { prefix: text.slice(0, star), suffix: text.slice(star + 1), isExact: false };
}
