import { gunzipSync } from "node:zlib";
import { isJsonObject, type JsonValue } from "@bunting/protocol";
import type { Answer } from "./answer.js";
import { canonicalValue, withoutWording, wordingOf } from "./canonical-value.js";
import type { Exchange } from "./exchange.js";
import type { GoldenRequest } from "./golden-case.js";
import { metricFamilies } from "./metric-families.js";
import { decodeMessage, parseJsonMessage, responseTypeOf } from "./response-message.js";
import { statusNameOf } from "./status-name.js";

/** What an exchange says, in the form of the corpus. `marks`: how many bytes of a stream had come before each edit, and after the last. */
export function readAnswer(exchange: Exchange, request: GoldenRequest, marks?: readonly number[]): Answer {
  if (exchange.status === undefined) return { outcome: exchange.end ?? "nothing" };
  const media = (exchange.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const [, framing, codec = "proto"] =
    /^application\/(grpc-web-text|grpc-web|grpc|connect)(?:\+(.+))?$/.exec(media) ?? [];
  const { informational } = exchange;
  return {
    status: exchange.status,
    headers: headersOf(exchange, request),
    ...(informational.length === 0 ? {} : { informational }),
    ...(framing === undefined
      ? readBody(exchange, request, media)
      : readFrames(exchange, request, framing, codec, marks)),
  };
}

function readBody(exchange: Exchange, request: GoldenRequest, media: string): Partial<Answer> {
  const end = exchange.end === "complete" ? {} : { end: exchange.end ?? "open" };
  if (request.onlyHead === true) return end;
  const body = exchange.header("content-encoding") === "gzip" ? unzipped(exchange.body) : exchange.body;
  if (request.scrape === true) return { metrics: metricFamilies(body.toString()), ...end };
  if (media === "application/json") {
    try {
      return { json: withoutWording(canonicalValue(JSON.parse(body.toString()))), ...end };
    } catch {
      return { text: body.toString().slice(0, 300), ...end };
    }
  }
  if (media === "application/proto")
    return { message: decodeMessage(body, responseTypeOf(request.path ?? "")), ...end };
  return { text: wordingOf(body.toString().trim()), ...end };
}

interface Frame {
  readonly offset: number;
  readonly flags: number;
  readonly payload: Buffer;
}

const frameHeadBytes = 5;

/** gRPC, gRPC-Web and streams of Connect frame their messages alike. */
function framesOf(body: Buffer): { readonly frames: readonly Frame[]; readonly leftover: number } {
  const frames: Frame[] = [];
  let offset = 0;
  while (body.length - offset >= frameHeadBytes) {
    const end = offset + frameHeadBytes + body.readUInt32BE(offset + 1);
    if (end > body.length) break;
    const flags = body[offset] ?? 0;
    const payload = body.subarray(offset + frameHeadBytes, end);
    frames.push({ offset, flags, payload: (flags & 1) === 0 ? payload : unzipped(payload) });
    offset = end;
  }
  return { frames, leftover: body.length - offset };
}

function readFrames(
  exchange: Exchange,
  request: GoldenRequest,
  framing: string,
  codec: string,
  marks: readonly number[] | undefined,
): Partial<Answer> {
  const { frames, leftover } = framesOf(
    framing === "grpc-web-text" ? fromBase64(exchange.body) : exchange.body,
  );
  const type = responseTypeOf(request.path ?? "");
  const stages: JsonValue[][] = [[]];
  let fields: readonly (readonly [string, string])[] = [...exchange.trailers, ...exchange.headers];
  let endStream: JsonValue | undefined;
  let last = "";
  for (const { offset, flags, payload } of frames) {
    while (marks !== undefined && stages.length < marks.length && offset >= (marks[stages.length - 1] ?? 0))
      stages.push([]);
    if (framing.startsWith("grpc-web") && (flags & 0x80) !== 0) fields = trailersOf(payload);
    else if (framing === "connect" && (flags & 2) !== 0) endStream = endOf(payload);
    else {
      // grpc-go takes any codec that it does not know for protobuf.
      const isJson = codec === "json" && payload.toString("utf8", 0, 1) === "{";
      const message = isJson ? parseJsonMessage(payload) : decodeMessage(payload, type);
      const text = JSON.stringify(message);
      // A snapshot that says what the one before said is no news.
      if (text !== last || !text.startsWith('{"flagConfiguration"')) stages.at(-1)?.push(message);
      last = text;
    }
  }
  while (stages.length < (marks?.length ?? 0)) stages.push([]);
  const grpc = grpcStatusOf(fields);
  const isOpen = exchange.end === undefined || exchange.end === "dropped";
  return {
    ...(marks === undefined ? { messages: stages[0] ?? [] } : { stages }),
    ...(endStream === undefined ? {} : { endStream }),
    ...(leftover > 0 && !isOpen ? { leftover } : {}),
    ...(grpc === undefined ? {} : { grpc }),
    ...(exchange.end === "complete" ? {} : { end: isOpen ? "open" : (exchange.end ?? "open") }),
  };
}

/** How many messages a stream has had, whatever they say. */
export function messageCount(exchange: Exchange): number {
  const media = exchange.header("content-type") ?? "";
  const body = media.startsWith("application/grpc-web-text") ? fromBase64(exchange.body) : exchange.body;
  return framesOf(body).frames.filter(({ flags }) => (flags & 0x82) === 0).length;
}

/** Each frame may be encoded, and padded, alone. */
function fromBase64(body: Buffer): Buffer {
  const parts = body.toString("latin1").match(/[A-Za-z0-9+/]+={0,2}/g) ?? [];
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
}

function trailersOf(payload: Buffer): readonly (readonly [string, string])[] {
  const lines = payload
    .toString()
    .split("\r\n")
    .filter((line) => line !== "");
  return lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
}

function endOf(payload: Buffer): JsonValue {
  const end = parseJsonMessage(payload);
  if (!isJsonObject(end)) return end;
  return Object.fromEntries(Object.entries(end).filter(([name]) => name !== "metadata"));
}

function grpcStatusOf(fields: readonly (readonly [string, string])[]): Answer["grpc"] {
  const get = (name: string): string | undefined => fields.find(([key]) => key === name)?.[1];
  const status = get("grpc-status");
  if (status === undefined) return undefined;
  const message = wordingOf(percentDecoded(get("grpc-message") ?? ""));
  return {
    code: statusNameOf(Number(status)),
    ...(message === "" ? {} : { message }),
    ...(get("grpc-status-details-bin") === undefined ? {} : { details: true }),
  };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function unzipped(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes);
  } catch {
    return bytes;
  }
}

/** The headers that a client may act on. */
const telling =
  /^(content-type|content-encoding|allow|accept-post|accept-encoding|vary|etag|last-modified|cache-control|location|retry-after|connection|upgrade|grpc-encoding|grpc-accept-encoding|connect-content-encoding|connect-accept-encoding|www-authenticate|access-control-.*)$/;
/** Lists, whose order says nothing. */
const lists =
  /^(vary|access-control-expose-headers|access-control-allow-headers|accept-post|allow|grpc-accept-encoding)$/;

function headersOf(exchange: Exchange, request: GoldenRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of exchange.headers) {
    if (telling.test(name))
      headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  if (request.http === "2" || !/close/i.test(headers["connection"] ?? "")) delete headers["connection"];
  for (const [name, value] of Object.entries(headers)) {
    if (lists.test(name))
      headers[name] = value
        .split(/\s*,\s*/)
        .sort()
        .join(", ");
  }
  return headers;
}
