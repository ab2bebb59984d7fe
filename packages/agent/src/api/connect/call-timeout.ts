import { parseGrpcTimeout, RpcError } from "@bunting/rpc";
import type { RequestHeaders } from "../request-headers.js";
import type { CallProtocol } from "./content-type.js";

/**
 * How long the client waits; undefined if it does not say.
 *
 * @throws RpcError INVALID_ARGUMENT
 */
export function callTimeoutMs(protocol: CallProtocol, headers: RequestHeaders): number | undefined {
  const isGrpc = protocol === "grpc" || protocol === "grpc-web";
  const name = isGrpc ? "grpc-timeout" : "connect-timeout-ms";
  const text = headers.header(name) ?? "";
  if (text === "") return undefined;
  const timeoutMs = isGrpc ? parseGrpcTimeout(text) : parseConnectTimeout(text);
  if (timeoutMs === undefined) {
    throw new RpcError("INVALID_ARGUMENT", `The request can't be read: ${name} is not a timeout.`);
  }
  return timeoutMs;
}

/** Whole milliseconds in at most 10 characters. */
function parseConnectTimeout(text: string): number | undefined {
  return text.length <= 10 && /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
}
