import { gunzipSync } from "node:zlib";
import { RpcError } from "@bunting/http2/status";

/** The encodings accepted in requests, as `grpc-accept-encoding` lists them. */
const acceptedEncodings = "identity,gzip";

/** Throws UNIMPLEMENTED, with the accepted encodings, if the client uses another one. */
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

/** The message of a frame whose flag says compressed. It never grows beyond `maxBytes`, whatever the compressed bytes claim. */
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
        { cause, refusal: "message_size" },
      );
    }
    throw new RpcError("INTERNAL", "the message is not valid gzip", { cause });
  }
}
