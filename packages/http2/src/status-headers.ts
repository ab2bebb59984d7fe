import { statusCode, type RpcStatus } from "./status.js";

type Headers = Readonly<Record<string, string>>;

const ok: Headers = { "grpc-status": "0" };
/** Everything outside printable ASCII, the percent sign itself, and a blank at either end, with which a header is malformed (RFC 9113 8.2.1). */
const unsafe = /[^\x20-\x7e]|%|^ | $/;

/** The trailers that carry a status. */
export function statusHeaders(status: RpcStatus): Headers {
  if (status.code === "OK" && status.message === "" && status.trailers === undefined) return ok;
  const headers: Record<string, string> = {
    ...status.trailers,
    "grpc-status": String(statusCode[status.code]),
  };
  if (status.message !== "") headers["grpc-message"] = encodeStatusMessage(status.message);
  return headers;
}

/** Percent-encodes a status message byte by byte, as gRPC over HTTP/2 demands: a header can hold neither UTF-8 nor line breaks. */
export function encodeStatusMessage(message: string): string {
  if (!unsafe.test(message)) return message;
  let encoded = "";
  for (const byte of Buffer.from(message, "utf8"))
    encoded +=
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return encoded.replace(/^ | $/g, "%20");
}
