import type { IncomingHttpHeaders } from "node:http";
import {
  type ConnectionGuard,
  fetchDocument,
  HttpClient,
  HttpFailure,
  unpacked,
  type Fetched,
  type FetchOptions,
} from "@bunting/sync-client/http";
import { withTimeLimit, type Clock } from "@bunting/runtime";
import { isNestedDeeper } from "./json-depth.js";

export interface OutboundLimits {
  /** Of the body, packed and unpacked. */
  readonly bytes: number;
  /** Levels of objects and lists in a body of JSON; without, bodies may be anything. */
  readonly depth?: number;
  /** From the call to the last byte of the answer. */
  readonly timeoutMs: number;
}

export interface OutboundRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  /** They may contain secrets: they go to the host of the URL only. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly limits: OutboundLimits;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Unpacked. Of an answer that is not 2xx, the beginning at most. */
  readonly body: Buffer;
}

export interface OutboundOptions {
  readonly guard: ConnectionGuard;
  /** Certificates of the authorities to trust in PEM; without, those of Node. */
  readonly ca?: string | undefined;
  readonly clock: Clock;
}

/** Requests of one caller to addresses that somebody else has named, one at a time on one connection. */
export class OutboundClient {
  readonly #http: HttpClient;
  readonly #clock: Clock;

  constructor({ guard, ca, clock }: OutboundOptions) {
    this.#http = new HttpClient({ guard, ...(ca === undefined ? {} : { ca: Buffer.from(ca) }) });
    this.#clock = clock;
  }

  /** Closes the connection. */
  close(): void {
    this.#http.close();
  }

  /**
   * A redirect is an answer like others: where it leads to is the caller's business, and not followed.
   *
   * @throws HttpFailure, or what the signal was aborted with
   */
  async request(request: OutboundRequest, signal: AbortSignal): Promise<OutboundAnswer> {
    const { url: href, method, headers, body, limits } = request;
    if (!URL.canParse(href)) throw new HttpFailure("host_refused", "the address is no URL");
    const url = new URL(href);
    return this.#within(limits.timeoutMs, url.host, signal, async (until) => {
      const message = { method, url, headers: { "accept-encoding": "gzip", ...headers } };
      const sent = body === undefined ? message : { ...message, body };
      const answer = await this.#http.send({ ...sent, maxBytes: limits.bytes }, until);
      if (answer.status < 200 || answer.status > 299) return answer;
      const whole = await unpacked(answer, url.host, limits.bytes);
      if (limits.depth !== undefined && isNestedDeeper(whole, limits.depth))
        throw new HttpFailure("too_deep", `${url.host} sent JSON of more than ${limits.depth} levels`);
      return { status: answer.status, headers: answer.headers, body: whole };
    });
  }

  /**
   * Fetches a document unless the current one is the newest; see fetchDocument. Redirects are followed within the origin of its URL.
   *
   * @throws HttpFailure, or what the signal was aborted with
   */
  async document(
    {
      limits,
      headers,
      ...options
    }: Omit<FetchOptions, "client" | "maxBytes"> & {
      readonly limits: Omit<OutboundLimits, "depth">;
    },
    signal: AbortSignal,
  ): Promise<Fetched> {
    return this.#within(limits.timeoutMs, new URL(options.url).host, signal, (until) =>
      fetchDocument(
        {
          ...options,
          client: this.#http,
          headers: { "accept-encoding": "gzip", ...headers },
          maxBytes: limits.bytes,
          followsOthers: false,
        },
        until,
      ),
    );
  }

  async #within<Value>(
    timeoutMs: number,
    host: string,
    signal: AbortSignal,
    work: (until: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    const message = `${host} has not answered completely within ${timeoutMs / 1_000} s`;
    const late = (cause: unknown): HttpFailure => new HttpFailure("timeout", message, { cause });
    try {
      return await withTimeLimit(signal, timeoutMs, work, { clock: this.#clock, late });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }
}
