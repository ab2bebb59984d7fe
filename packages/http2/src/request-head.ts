import type { IncomingHttpHeaders } from "node:http";
import type { HeaderFields } from "./transport.js";
import type { HeaderList } from "./hpack/header-decoder.js";

/** `:method` and the like, which come first. */
const pseudoHeaders: ReadonlySet<string> = new Set([":method", ":scheme", ":path", ":authority"]);
/** Headers of HTTP/1.1 connections, which HTTP/2 forbids (RFC 9113 8.2.2). */
export const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);
/** Headers of which the first value counts, as in node:http, but `authorization` is joined; others are joined. */
const single: ReadonlySet<string> = new Set([
  ...["age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host"],
  ...["if-modified-since", "if-unmodified-since", "last-modified", "location", "max-forwards"],
  ...["proxy-authorization", "referer", "retry-after", "server", "user-agent"],
]);
const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** No control characters (RFC 9113 8.2.1). */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;
const pathValue = /^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/;

/** The headers of a request, immutable: requests of one connection with equal headers share it. */
export class RequestHead {
  /** By name; the first where there are several. Several `authorization` are joined, so that they are no credential: which one counts is not for us to guess. */
  readonly fields: HeaderFields;
  /** As SETTINGS_MAX_HEADER_LIST_SIZE counts. */
  readonly bytes: number;
  /** Value of `content-length`; -1 without one. */
  readonly contentLength: number;
  readonly isGrpc: boolean;
  /** Names and values in turn; not kept for gRPC. */
  readonly #list: readonly string[] | undefined;

  private constructor(
    fields: HeaderFields,
    contentLength: number,
    isGrpc: boolean,
    { fields: list, bytes }: HeaderList,
  ) {
    this.fields = fields;
    this.bytes = bytes;
    this.contentLength = contentLength;
    this.isGrpc = isGrpc;
    this.#list = isGrpc ? undefined : list;
  }

  /** Undefined if the request is malformed (RFC 9113 8.1.1). */
  static of(list: HeaderList, isGrpc: (fields: HeaderFields) => boolean): RequestHead | undefined {
    const fields = fieldsOf(list.fields);
    if (fields === undefined || !isRequest(fields)) return undefined;
    const contentLength = lengthOf(fields["content-length"]);
    return contentLength === undefined
      ? undefined
      : new RequestHead(fields, contentLength, isGrpc(fields), list);
  }

  get path(): string {
    return this.text(":path") ?? "";
  }

  text(name: string): string | undefined {
    return this.fields[name] as string | undefined;
  }

  /** Names and values in turn, as node:http has them. */
  get rawHeaders(): string[] {
    return [...(this.#list ?? [])];
  }

  /** As node:http has them: those that were repeated are joined. */
  joined(): IncomingHttpHeaders {
    const headers: IncomingHttpHeaders = Object.assign(
      Object.create(null) as IncomingHttpHeaders,
      this.fields,
    );
    const list = this.#list ?? [];
    const seen = new Set<string>();
    for (let at = 0; at < list.length; at += 2) {
      const name = list[at] ?? "";
      if (seen.has(name) && !single.has(name))
        headers[name] = `${String(headers[name])}${name === "cookie" ? "; " : ", "}${list[at + 1] ?? ""}`;
      seen.add(name);
    }
    // Listeners for HTTP/1.1 read `host`, which HTTP/2 clients need not send, and which must not name another one.
    const authority = this.text(":authority");
    if (authority !== undefined && authority !== "") headers.host = authority;
    return headers;
  }
}

/** False for trailers that are malformed. */
export function areTrailers({ fields }: HeaderList): boolean {
  const found = fieldsOf(fields);
  return found !== undefined && !(fields[0] ?? "").startsWith(":");
}

/** Cuts the blanks around values off, in the list too, as parsers of HTTP/1.1 do (RFC 9110 5.5). */
function fieldsOf(list: string[]): Record<string, string> | undefined {
  const fields = Object.create(null) as Record<string, string>;
  let hasRegular = false;
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] ?? "";
    const padded = list[at + 1] ?? "";
    const value = withoutOuterBlanks(padded);
    const known = fields[name];
    if (name.charCodeAt(0) === 0x3a) {
      if (hasRegular || known !== undefined || !pseudoHeaders.has(name) || value !== padded) return undefined;
    } else {
      hasRegular = true;
      list[at + 1] = value;
      if (!token.test(name) || connectionHeaders.has(name)) return undefined;
      if (name === "te" && value.toLowerCase() !== "trailers") return undefined;
      if (known !== undefined && (name === "content-length" || name === "host")) return undefined;
    }
    if (!fieldValue.test(value)) return undefined;
    if (known === undefined) fields[name] = value;
    else if (name === "authorization") fields[name] = `${known}, ${value}`;
  }
  return fields;
}

function withoutOuterBlanks(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charCodeAt(start))) start++;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function isRequest(fields: Record<string, string>): boolean {
  const { ":method": method, ":scheme": scheme, ":path": path, ":authority": authority } = fields;
  if (method === undefined || method === "" || (authority === undefined && fields["host"] === undefined))
    return false;
  if (method === "CONNECT") return scheme === undefined && path === undefined;
  if (scheme === undefined || path === undefined || !pathValue.test(path)) return false;
  return path !== "*" || method === "OPTIONS";
}

function lengthOf(text: string | undefined): number | undefined {
  if (text === undefined) return -1;
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
