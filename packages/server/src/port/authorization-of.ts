import type { IncomingMessage } from "node:http";

/**
 * The header `authorization` of a request that is not gRPC. Several are joined to a list, as RFC 9110 has it, which is no credential: of node's
 * `headers.authorization`, which is the first, an intermediary that reads the last would think otherwise.
 */
export function authorizationOf({
  headers,
  rawHeaders,
}: Pick<IncomingMessage, "headers" | "rawHeaders">): string | undefined {
  if (headers.authorization === undefined) return undefined;
  return rawHeaders
    .filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === "authorization")
    .join(", ");
}
