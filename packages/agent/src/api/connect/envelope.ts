import { frameMessage, framePrefixBytes, RpcError } from "@bunting/rpc";
import { compress, decompress, isWorthCompressing, type Compression } from "./compression.js";

/** The flags of a frame. */
const [compressedFlag, connectEndFlag, webTrailersFlag] = [0x01, 0x02, 0x80];

/** What may come after the message of a request: a Connect stream's end, a gRPC-Web request's trailers. */
export type RequestTail = "none" | "connect" | "grpc-web";

export interface EnvelopeOptions {
  readonly compression: Compression;
  readonly tail: RequestTail;
  /** `--max-request-body`. */
  readonly maxRequestBodyBytes: number;
}

/**
 * The one message of a framed request, unfolded.
 *
 * @throws RpcError with the codes of connect-go
 */
export function soleEnvelope(body: Buffer, options: EnvelopeOptions): Buffer {
  let message: Buffer | undefined;
  let rest = body;
  while (rest.length > 0) {
    if (rest.length < framePrefixBytes) throw malformed("it ends within the prefix of a message");
    const flags = rest[0] ?? 0;
    const end = framePrefixBytes + rest.readUInt32BE(1);
    if (end > rest.length)
      throw malformed(
        `a message of ${end - framePrefixBytes} bytes was announced, and ${rest.length - framePrefixBytes} came`,
      );
    const payload = rest.subarray(framePrefixBytes, end);
    rest = rest.subarray(end);
    if (flags > compressedFlag) {
      checkTail(flags, options.tail);
      break;
    }
    if (message !== undefined)
      throw new RpcError("UNIMPLEMENTED", "This method takes one message, but the request has two.");
    message = flags === compressedFlag ? unfold(payload, options) : payload;
  }
  if (message === undefined)
    throw new RpcError("UNIMPLEMENTED", "This method takes one message, but the request has none.");
  return message;
}

function unfold(payload: Buffer, { compression, maxRequestBodyBytes }: EnvelopeOptions): Buffer {
  if (compression.ofRequest === "identity")
    throw new RpcError("INTERNAL", "A message is marked as compressed, but no encoding is named.");
  return payload.length === 0 ? payload : decompress(payload, maxRequestBodyBytes);
}

function checkTail(flags: number, tail: RequestTail): void {
  const isTail =
    (tail === "connect" && flags === connectEndFlag) ||
    (tail === "grpc-web" && (flags & webTrailersFlag) !== 0);
  if (!isTail)
    throw new RpcError("INTERNAL", `A message has the flags ${flags}, which this protocol does not have.`);
}

/** A message of an answer, framed. */
export function envelope(message: Buffer, compression: Compression): Buffer {
  const isCompressed = compression.ofAnswer === "gzip" && isWorthCompressing(message.length);
  return frameMessage(isCompressed ? compress(message) : message, isCompressed);
}

/** The end of a Connect stream. */
export function connectEnd(json: string): Buffer {
  const frame = frameMessage(Buffer.from(json));
  frame[0] = connectEndFlag;
  return frame;
}

/** The trailers of gRPC-Web, which are the end of the body. */
export function webTrailers(trailers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value}\r\n`);
  const frame = frameMessage(Buffer.from(lines.join("")));
  frame[0] = webTrailersFlag;
  return frame;
}

function malformed(why: string): RpcError {
  return new RpcError("INVALID_ARGUMENT", `The request can't be read: ${why}.`);
}
