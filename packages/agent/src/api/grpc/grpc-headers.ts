import { parseGrpcTimeout } from "@bunting/rpc";
import { type GrpcHeaderRules, type HeaderFields } from "@bunting/server";
import { varyByOrigin } from "../http/cors.js";

type Headers = Readonly<Record<string, string | number>>;

/**
 * Native gRPC as flagd answers it. Requests that are not plain go to the HTTP listener, which serves gRPC as well: those that are compressed,
 * come from a browser's origin, or have an invalid deadline.
 */
export const evaluationGrpcHeaders: GrpcHeaderRules = {
  isGrpc: (request) => {
    if (request[":method"] !== "POST" || request["origin"] !== undefined) return false;
    const contentType = request["content-type"];
    if (contentType !== plain && contentType !== proto) return false;
    return isPlainEncoding(request["grpc-encoding"]) && isTimeout(request["grpc-timeout"]);
  },
  responseHeaders: (request) => {
    const { own, withGzip } = request["content-type"] === proto ? protoHeaders : plainHeaders;
    return acceptsGzip(request["grpc-accept-encoding"]) ? withGzip : own;
  },
};

const plain = "application/grpc";
const proto = "application/grpc+proto";
const plainHeaders = headersOf(plain);
const protoHeaders = headersOf(proto);

/**
 * With `grpc-encoding`, each message says whether it is compressed. None is: the client is on the same machine, where compressing takes longer
 * than sending.
 */
function headersOf(contentType: string): { readonly own: Headers; readonly withGzip: Headers } {
  const own = {
    ":status": 200,
    "content-type": contentType,
    "grpc-accept-encoding": "gzip",
    ...varyByOrigin,
  };
  return { own, withGzip: { ...own, "grpc-encoding": "gzip" } };
}

function isPlainEncoding(encoding: HeaderFields[string]): boolean {
  return encoding === undefined || encoding === "identity";
}

function isTimeout(timeout: HeaderFields[string]): boolean {
  return timeout === undefined || (typeof timeout === "string" && parseGrpcTimeout(timeout) !== undefined);
}

function acceptsGzip(encodings: HeaderFields[string]): boolean {
  return typeof encodings === "string" && (encodings === "gzip" || encodings.split(/[, ]/).includes("gzip"));
}
