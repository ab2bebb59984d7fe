import { constants, crc32, gunzipSync, gzipSync } from "node:zlib";
import { maxUnfoldedBytes, RpcError } from "@bunting/rpc";
import type { CallProtocol } from "./content-type.js";

/** The only encoding, as in flagd. */
const gzip = "gzip";

/** The headers that name encodings: that of the request or of the answer, and those that the other side accepts. */
export const encodingHeaders: Readonly<
  Record<CallProtocol, { readonly used: string; readonly accepted: string }>
> = {
  connect: { used: "content-encoding", accepted: "accept-encoding" },
  "connect-stream": { used: "connect-content-encoding", accepted: "connect-accept-encoding" },
  "grpc-web": { used: "grpc-encoding", accepted: "grpc-accept-encoding" },
  grpc: { used: "grpc-encoding", accepted: "grpc-accept-encoding" },
};

export interface Compression {
  readonly ofRequest: "gzip" | "identity";
  readonly ofAnswer: "gzip" | "identity";
}

/** @throws RpcError UNIMPLEMENTED if the request is encoded otherwise */
export function negotiateCompression(used: string | undefined, accepted: string | undefined): Compression {
  if (used === gzip) return { ofRequest: gzip, ofAnswer: gzip };
  if (used !== undefined && used !== "" && used !== "identity")
    throw new RpcError(
      "UNIMPLEMENTED",
      `The encoding ${JSON.stringify(used)} is not supported: send gzip or identity.`,
    );
  const acceptsGzip = accepted?.split(/[, ]/).includes(gzip) === true;
  return { ofRequest: "identity", ofAnswer: acceptsGzip ? gzip : "identity" };
}

/** @throws RpcError INVALID_ARGUMENT or RESOURCE_EXHAUSTED */
export function decompress(message: Buffer, maxRequestBodyBytes: number): Buffer {
  const maxOutputLength = maxUnfoldedBytes(
    message.length,
    maxRequestBodyBytes === 0 ? Infinity : maxRequestBodyBytes,
  );
  try {
    return gunzipSync(message, { maxOutputLength });
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new RpcError(
        "RESOURCE_EXHAUSTED",
        `The message has more than ${maxOutputLength} bytes once unfolded.`,
        { cause, refusal: "message_size" },
      );
    throw new RpcError("INVALID_ARGUMENT", "The request can't be read: it is not gzip.", { cause });
  }
}

/** From this size on, compressing is worth its time. */
const worthwhileBytes = 1024;
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

export function isWorthCompressing(bytes: number): boolean {
  return bytes >= worthwhileBytes;
}

/** The message as gzip. A small one is stored in it as it is: setting up a compressor takes longer than the rest of a request. */
export function compress(message: Buffer): Buffer {
  if (isWorthCompressing(message.length)) return gzipSync(message, { level: constants.Z_BEST_SPEED });
  // RFC 1951 3.2.4: the final block, not compressed.
  const stored = Buffer.alloc(5 + message.length + 8);
  stored[0] = 1;
  stored.writeUInt16LE(message.length, 1);
  stored.writeUInt16LE(message.length ^ 0xffff, 3);
  stored.set(message, 5);
  stored.writeUInt32LE(crc32(message), 5 + message.length);
  stored.writeUInt32LE(message.length, 5 + message.length + 4);
  return Buffer.concat([header, stored]);
}
