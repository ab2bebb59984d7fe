import type { EvaluationCodec } from "../message-codec.js";

/**
 * How a call is laid over HTTP. `connect` is the unary half of Connect, whose bodies are bare messages; the others frame them. `grpc` is what
 * is not served natively: over HTTP/1.1, with JSON, compressed, or called by a browser's origin.
 */
export type CallProtocol = "connect" | "connect-stream" | "grpc-web" | "grpc";

/** A call as its content type describes it. */
export interface CallType {
  /** In the form that the answer repeats. */
  readonly contentType: string;
  readonly protocol: CallProtocol;
  readonly codec: EvaluationCodec;
  /** Whether both bodies are base64, for clients that can't read bytes before an answer ends: XMLHttpRequest in browsers. */
  readonly isBase64: boolean;
}

const framed = [
  ...callTypes("grpc", "application/grpc", ["", "+json", "+json; charset=utf-8", "+proto"]),
  ...callTypes("grpc-web", "application/grpc-web", ["", "+json", "+json; charset=utf-8", "+proto"]),
  ...callTypes("grpc-web", "application/grpc-web-text", ["", "+proto"], true),
];
const unary = [...framed, ...callTypes("connect", "application/", ["json", "json; charset=utf-8", "proto"])];
const streaming = [
  ...framed,
  ...callTypes("connect-stream", "application/connect", ["+json", "+json; charset=utf-8", "+proto"]),
];

/** The content types of a kind of method. */
export class CallTypes {
  /** For the header `accept-post`, which is flagd's: without the text form, whose clients know no other. */
  readonly acceptPost: string;
  readonly #byContentType: ReadonlyMap<string, CallType>;

  constructor(types: readonly CallType[]) {
    this.acceptPost = types
      .filter(({ isBase64 }) => !isBase64)
      .map(({ contentType }) => contentType)
      .join(", ");
    this.#byContentType = new Map(types.map((type) => [type.contentType, type]));
  }

  /** Undefined if no method of this kind is called with it. */
  of(contentType: string | undefined): CallType | undefined {
    if (contentType === undefined) return undefined;
    return this.#byContentType.get(contentType) ?? this.#byContentType.get(canonical(contentType));
  }
}

export const unaryCallTypes = new CallTypes(unary);
export const streamCallTypes = new CallTypes(streaming);

function callTypes(
  protocol: CallProtocol,
  base: string,
  suffixes: readonly string[],
  isBase64 = false,
): CallType[] {
  return suffixes.map((suffix) => ({
    contentType: `${base}${suffix}`,
    protocol,
    codec: suffix.includes("json") ? "json" : "proto",
    isBase64,
  }));
}

const syntax = /^\s*([^\s;]+)\s*(?:;\s*charset=(?:"([^"\\]*)"|([^\s";]+))\s*)?;?\s*$/i;

/** Longer than any of ours with a charset. The expression takes time that grows with the square of white space. */
const maxLength = 256;

/** Lower case; of parameters, only a sole charset matters. */
function canonical(contentType: string): string {
  if (contentType.length > maxLength) return contentType;
  const match = syntax.exec(contentType);
  if (match === null) return contentType;
  const [, type = "", quoted, bare] = match;
  const charset = quoted ?? bare;
  return (charset === undefined ? type : `${type}; charset=${charset}`).toLowerCase();
}
