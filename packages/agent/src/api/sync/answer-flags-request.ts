import { isUtf8 } from "node:buffer";
import { type HttpExchange, isNoneMatchFor } from "@bunting/server";
import type { Selection } from "../selection.js";
import type { FlagsDocument } from "./shared-fetches.js";

// A chunk of its own, which has copies of what it imports: so nothing here may depend on a class or a table of another module.

export interface FlagsRequestOptions {
  /** Undefined for a selector that can't be parsed. */
  readonly select: (text: string) => Selection | undefined;
  /** The flags that are selected, once every source has answered, or why there are none. */
  readonly fetch: (selection: Selection) => Promise<FetchedFlags | string>;
  readonly now: () => number;
}

export interface FetchedFlags extends FlagsDocument {
  /** When the flags changed, of whatever selector, in ms since the epoch; undefined before the first ones came. */
  readonly modifiedMs: number | undefined;
}

const flagsPath = "/v1/flags";
/** What the requests are counted under: as in flagd, without the selector, which clients choose. */
const selectorRoute = `${flagsPath}/{selector}`;
const plainText = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
const json = { "content-type": "application/json" };
const vary = { vary: "Origin, Flagd-Selector" };
/** What Go takes for control characters. */
const control = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * `GET /v1/flags` of later versions of flagd: the document that FetchAllFlags answers with, for clients that poll over HTTP. The selector is
 * in the header, in the path or in the query, and counts in this order.
 */
export function answerFlagsRequest(exchange: HttpExchange, options: FlagsRequestOptions): void {
  const { path } = exchange;
  const { method } = exchange.request;
  if (path !== flagsPath && !/^\/v1\/flags\/[^/]+$/.test(path)) {
    exchange.refuse(404, plainText, "Not found: this port speaks gRPC, and has GET /v1/flags.\n");
    return;
  }
  exchange.route = path === flagsPath ? flagsPath : selectorRoute;
  if (method !== "GET" && method !== "HEAD") {
    exchange.refuse(405, { ...plainText, allow: "GET, HEAD" }, "Only GET is answered here.\n");
    return;
  }
  const selector = selectorOf(exchange);
  if (selector === undefined) {
    exchange.refuse(400, plainText, "malformed selector\n");
    return;
  }
  const selection = options.select(selector);
  if (selection === undefined) {
    // Without the selector: a page that repeats what a client sent may be used against browsers.
    exchange.refuse(404, plainText, "no such selector\n");
    return;
  }
  exchange.request.resume();
  void options.fetch(selection).then((flags) => {
    if (typeof flags === "string") exchange.reply(503, plainText, `${flags}\n`);
    else answer(exchange, flags, options.now());
  });
}

function answer(exchange: HttpExchange, { body, etag, modifiedMs }: FetchedFlags, nowMs: number): void {
  // In seconds: the flags may change again within this one, which the client would not notice.
  const modified = modifiedMs === undefined ? 0 : Math.floor(modifiedMs / 1_000) * 1_000;
  const hasTime = modified > 0 && nowMs - modified >= 1_000;
  if (isUnchanged(exchange, etag, hasTime ? modified : undefined)) {
    exchange.reply(304, { ...vary, etag }, "");
    return;
  }
  const lastModified = hasTime ? { "last-modified": new Date(modified).toUTCString() } : {};
  exchange.reply(200, { ...json, ...vary, etag, ...lastModified }, body);
}

/** By RFC 9110 13.2.2, If-Modified-Since counts only without If-None-Match. */
function isUnchanged(exchange: HttpExchange, etag: string, modified: number | undefined): boolean {
  const { "if-none-match": noneMatch, "if-modified-since": since } = exchange.request.headers;
  if (noneMatch !== undefined) return isNoneMatchFor(noneMatch, etag);
  return since !== undefined && modified !== undefined && modified <= Date.parse(since);
}

/** Undefined if it can't be text. */
function selectorOf(exchange: HttpExchange): string | undefined {
  const header = Buffer.from(exchange.header("flagd-selector") ?? "", "latin1");
  const selector = header.length > 0 ? utf8(header) : selectorOfTarget(exchange.request.url ?? "");
  return selector === undefined || control.test(selector) ? undefined : selector;
}

function utf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

function selectorOfTarget(target: string): string | undefined {
  const queryAt = target.indexOf("?");
  const path = queryAt === -1 ? target : target.slice(0, queryAt);
  const segment = path.slice(flagsPath.length + 1);
  try {
    if (segment !== "") return decodeURIComponent(segment);
    const query = queryAt === -1 ? "" : target.slice(queryAt + 1);
    const pair = query.split("&").find((each) => each.startsWith("selector="));
    return decodeURIComponent((pair ?? "selector=").slice("selector=".length).replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
