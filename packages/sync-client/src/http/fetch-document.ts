import type { IncomingHttpHeaders } from "node:http";
import path from "node:path";
import { isYamlName } from "@bunting/files/names";
import type { HttpAnswer, HttpClient } from "./http-client.js";
import { HttpFailure, type HttpFailureCode } from "./http-failure.js";
import { unpacked } from "./unpacked.js";

/** What the server calls a version of the document. */
export interface Validators {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
}

export interface FetchOptions {
  readonly client: HttpClient;
  readonly url: string;
  /** Sent to the origin of the URL only: they may contain secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly validators: Validators | undefined;
  readonly maxBytes: number;
  /** False if redirects to other origins are failures. Default: they are followed. */
  readonly followsOthers?: boolean;
  /** What to do about failures, as ends of sentences. Default: what a source of the agent has options for. */
  readonly remedies?: Remedies;
}

export type Remedies = Readonly<Partial<Record<HttpFailureCode, string>>>;

const remediesOfSources: Remedies = {
  unauthorized: `: check "authHeader", "bearerToken", "tokenFile" or "oauth"`,
  forbidden: ": the credentials of the source may not read the document",
  missing: ": there is no document at this URI",
  throttled: ": raise the interval of the source",
};

export type Fetched =
  | { readonly kind: "unchanged" }
  | {
      readonly kind: "document";
      readonly body: Buffer;
      readonly isYaml: boolean;
      readonly validators: Validators;
    };

const maxRedirects = 10;
const maxValidatorLength = 1_024;

/**
 * Fetches a document unless the server answers that the current one is the newest. Redirects are followed.
 *
 * @throws HttpFailure, or what the signal was aborted with
 */
export async function fetchDocument(options: FetchOptions, signal: AbortSignal): Promise<Fetched> {
  const { client, headers, validators, maxBytes, followsOthers = true } = options;
  const first = new URL(options.url);
  let url = first;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const conditions = conditionsOf(validators);
    const own = url.origin === first.origin ? headers : {};
    const answer = await client.send(
      {
        method: "GET",
        url,
        headers: {
          accept: "application/json, application/yaml",
          "accept-encoding": "identity",
          ...own,
          ...conditions,
        },
        maxBytes,
      },
      signal,
    );
    const next = redirectOf(answer, url);
    if (next === undefined) return read(answer, first, options);
    if (!followsOthers && next.origin !== first.origin)
      throw new HttpFailure("redirect", `${first.host} redirects to another host, which is not followed`);
    url = next;
  }
  throw new HttpFailure("redirect", `${first.host} redirects more than ${maxRedirects} times`);
}

/** Undefined if it is too long to be sent back: servers close connections on large headers, though it is of an earlier answer of theirs. */
export function sendableValidator(value: string | undefined): string | undefined {
  return value === undefined || value.length > maxValidatorLength ? undefined : value;
}

function conditionsOf(validators: Validators | undefined): Record<string, string> {
  const conditions = { "if-none-match": validators?.etag, "if-modified-since": validators?.lastModified };
  return Object.fromEntries(
    Object.entries(conditions).flatMap(([name, value]) => {
      const sendable = sendableValidator(value);
      return sendable === undefined ? [] : [[name, sendable]];
    }),
  );
}

function redirectOf({ status, headers }: HttpAnswer, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined;
  const { location } = headers;
  if (location === undefined || !URL.canParse(location, from.href))
    throw new HttpFailure("redirect", `${from.host} answered ${status} without a usable Location`);
  const to = new URL(location, from);
  if (!/^https?:$/.test(to.protocol))
    throw new HttpFailure("redirect", `${from.host} redirects to ${to.protocol}, which is not followed`);
  return to;
}

async function read(
  answer: HttpAnswer,
  url: URL,
  { validators: sent, maxBytes, remedies = remediesOfSources }: FetchOptions,
): Promise<Fetched> {
  const { status, headers } = answer;
  // Only an answer to a condition: a server may send 304 whatever it is asked.
  if (status === 304 && Object.keys(conditionsOf(sent)).length > 0) return { kind: "unchanged" };
  // A part of the document, which nobody asked for, may be YAML all the same, with fewer flags.
  if (status < 200 || status > 299 || status === 206) throw failureOf(answer, url, remedies);
  const body = await unpacked(answer, url.host, maxBytes);
  if (body.length === 0) throw new HttpFailure("empty", `${url.host} answered ${status} with an empty body`);
  const validators = { etag: headers.etag, lastModified: headers["last-modified"] };
  return { kind: "document", body, isYaml: isYaml(url, headers["content-type"]), validators };
}

/** By the extension of the path; by the media type without a known one. */
function isYaml({ pathname }: URL, contentType = ""): boolean {
  if (isYamlName(pathname)) return true;
  if (path.extname(pathname).toLowerCase() === ".json") return false;
  return /^[^;]*\byaml\b/i.test(contentType);
}

function failureOf({ status, headers }: HttpAnswer, url: URL, remedies: Remedies): HttpFailure {
  const code = codeOf(status);
  return new HttpFailure(code, `${url.host} answered ${status}${remedies[code] ?? ""}`, retryAfter(headers));
}

/** How long a server asks its client to wait, by a number of seconds or a date. */
export function retryAfter(
  { "retry-after": header = "" }: IncomingHttpHeaders,
  nowMs = Date.now(),
): { readonly retryAfterMs?: number } {
  const after = header.trim();
  if (/^\d{1,6}$/.test(after)) return { retryAfterMs: Number(after) * 1_000 };
  const date = /^[A-Z]/.test(after) ? Date.parse(after) : Number.NaN;
  return Number.isNaN(date) ? {} : { retryAfterMs: Math.max(0, date - nowMs) };
}

/** What a status means that comes with no document. */
export function codeOf(status: number): HttpFailureCode {
  if (status === 401) return "unauthorized";
  if (status === 403) return "forbidden";
  if (status === 404 || status === 410) return "missing";
  if (status === 429) return "throttled";
  if (status >= 500) return "server_error";
  return status >= 400 ? "client_error" : "unexpected_status";
}
