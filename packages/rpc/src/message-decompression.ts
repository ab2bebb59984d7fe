import { gunzipSync } from "node:zlib";
import { RpcError } from "./status.js";

/** What requests may be encoded with, as `grpc-accept-encoding` tells it. */
export const acceptedEncodings = "identity,gzip";

/** Throws UNIMPLEMENTED, naming what is accepted, where the client compresses in another way. */
export function checkEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding === "identity" || encoding === "gzip") return;
  throw new RpcError(
    "UNIMPLEMENTED",
    `messages encoded as "${encoding}" are not supported, send one of: ${acceptedEncodings}`,
    {
      trailers: { "grpc-accept-encoding": acceptedEncodings },
    },
  );
}

/** The message behind a frame whose flag says compressed. It never grows past `maxBytes`, whatever the compressed bytes promise. */
export function decompressMessage(message: Buffer, encoding: string | undefined, maxBytes: number): Buffer {
  if (encoding !== "gzip")
    throw new RpcError("INTERNAL", "a message is marked as compressed but no grpc-encoding was given");
  try {
    return gunzipSync(message, { maxOutputLength: Math.max(1, maxBytes) });
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new RpcError(
        "RESOURCE_EXHAUSTED",
        `the message has more than the ${maxBytes} bytes allowed once decompressed`,
        { cause },
      );
    }
    throw new RpcError("INTERNAL", "the message is not valid gzip", { cause });
  }
}
