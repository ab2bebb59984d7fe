import { defaultGrpcHeaders, type GrpcHeaderRules } from "@bunting/server";

const base = defaultGrpcHeaders(true);

/**
 * As grpc-go, which answers in the encoding of the request. With `grpc-encoding`, each message says whether it is compressed; ours are not: the
 * client is on the same machine.
 */
export const syncGrpcHeaders: GrpcHeaderRules = {
  isGrpc: base.isGrpc,
  responseHeaders: (request) => {
    const headers = base.responseHeaders(request);
    return request["grpc-encoding"] === "gzip" ? { ...headers, "grpc-encoding": "gzip" } : headers;
  },
};
