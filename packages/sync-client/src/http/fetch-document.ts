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
  /** Validators of the current document. */
  readonly validators: Validators | undefined;
  readonly maxBytes: number;
}

export type Fetched =
  | { readonly kind: "unchanged" }
  | {
      readonly kind: "document";
      readonly body: Buffer;
      readonly isYaml: boolean;
      readonly validators: Validators;
    };

const maxRedirects = 10;
/** Servers close connections on larger headers, also where the validator is of an earlier answer of theirs. */
const maxValidatorLength = 1_024;

/**
 * Fetches a document unless the server answers that the current one is the newest. Redirects are followed.
 *
 * @throws HttpFailure, or what the signal was aborted with
 */
export async function fetchDocument(options: FetchOptions, signal: AbortSignal): Promise<Fetched> {
  const { client, headers, validators, maxBytes } = options;
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
    url = next;
  }
  throw new HttpFailure("redirect", `${first.host} redirects more than ${maxRedirects} times`);
}

function conditionsOf(validators: Validators | undefined): Record<string, string> {
  const conditions = { "if-none-match": validators?.etag, "if-modified-since": validators?.lastModified };
  return Object.fromEntries(
    Object.entries(conditions).flatMap(([name, value]) =>
      value === undefined || value.length > maxValidatorLength ? [] : [[name, value]],
    ),
  );
}

function redirectOf({ status, headers }: HttpAnswer, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined;
  const { location } = headers;
  if (location === undefined || !URL.canParse(location, from.href)) {
    throw new HttpFailure("redirect", `${from.host} answered ${status} without a usable Location`);
  }
  const to = new URL(location, from);
  if (!/^https?:$/.test(to.protocol)) {
    throw new HttpFailure("redirect", `${from.host} redirects to ${to.protocol}, which is not followed`);
  }
  return to;
}

async function read(
  answer: HttpAnswer,
  url: URL,
  { validators: sent, maxBytes }: FetchOptions,
): Promise<Fetched> {
  const { status, headers } = answer;
  // Only an answer to a condition: a server may send 304 whatever it is asked.
  if (status === 304 && Object.keys(conditionsOf(sent)).length > 0) return { kind: "unchanged" };
  if (status < 200 || status > 299) throw failureOf(status, headers, url);
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

function failureOf(status: number, headers: IncomingHttpHeaders, url: URL): HttpFailure {
  const after = headers["retry-after"]?.trim() ?? "";
  const wait = /^\d{1,6}$/.test(after) ? { retryAfterMs: Number(after) * 1_000 } : {};
  const [code, remedy] = meaningOf(status);
  return new HttpFailure(code, `${url.host} answered ${status}${remedy}`, wait);
}

function meaningOf(status: number): readonly [code: HttpFailureCode, remedy: string] {
  if (status === 401) return ["unauthorized", `: check "authHeader", "bearerToken", "tokenFile" or "oauth"`];
  if (status === 403) return ["forbidden", `: the credentials of the source may not read the document`];
  if (status === 404 || status === 410) return ["missing", ": there is no document at this URI"];
  if (status === 429) return ["throttled", ": raise the interval of the source"];
  if (status >= 500) return ["server_error", ""];
  if (status >= 400) return ["client_error", ""];
  return ["unexpected_status", ""];
}
