import { gunzipSync } from "node:zlib";
import { RpcError } from "@bunting/http2/status";

/** The encodings accepted in requests, as `grpc-accept-encoding` lists them. */
const acceptedEncodings = "identity,gzip";

const mebibyte = 1024 * 1024;
/** No request of a client that means well is compressed as much. */
const maxRatio = 16;

/**
 * To how many bytes a compressed message may unfold. Where nothing else limits messages, what was sent does: a kilobyte must not become
 * a megabyte of work for each of a thousand clients.
 */
export function maxUnfoldedBytes(compressedBytes: number, maxBytes: number): number {
  return Math.max(1, maxBytes === Infinity ? Math.max(mebibyte, compressedBytes * maxRatio) : maxBytes);
}

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
  const maxOutputLength = maxUnfoldedBytes(message.length, maxBytes);
  try {
    return gunzipSync(message, { maxOutputLength });
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new RpcError(
        "RESOURCE_EXHAUSTED",
        `the message has more than the ${maxOutputLength} bytes allowed once decompressed`,
        { cause, refusal: "message_size" },
      );
    throw new RpcError("INTERNAL", "the message is not valid gzip", { cause });
  }
}
