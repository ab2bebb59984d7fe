import {
  Agent,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { responseTo } from "@bunting/protocol";
import { cut, errorCode, GatheredBytes, readSmallFile } from "@bunting/runtime";
import { HttpFailure } from "./http-failure.js";

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A larger body of an answer 2xx is a failure. Of other answers the beginning is enough. */
  readonly maxBytes: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const maxCertificateBytes = 4 * 1024 * 1024;
/** Answers 1xx before the answer. A server that sends them without end would keep the process busy until the timeout. */
const maxInformational = 16;
/** Of an answer that is not 2xx, for messages. */
const maxErrorBytes = 4 * 1024;

/** Decides whom a client may call. */
export interface ConnectionGuard {
  /**
   * The look-up of names for a connection, which answers with addresses that may be called only.
   *
   * @throws HttpFailure if the host may not be called
   */
  admit(url: URL): LookupFunction;
}

export interface HttpClientOptions {
  /** The certificates of the authorities to trust, read again before each request; "" for those of Node. */
  readonly certPath?: string;
  /** These certificates themselves. */
  readonly ca?: Buffer;
  /** Without, any host may be called. */
  readonly guard?: ConnectionGuard;
}

/** node:http decodes the user of a URL, and throws where it can't. A redirect may lead to any. */
function checkUser({ username, password, host }: URL): void {
  try {
    decodeURIComponent(username + password);
  } catch (cause) {
    const message = `the user or password before ${host} has a "%" that begins no escape: write "%25"`;
    throw new HttpFailure("redirect", message, { cause });
  }
}

/** Requests by node:http(s), one at a time, on kept connections. fetch would cost 10 MB of memory. */
export class HttpClient {
  readonly #certPath: string;
  readonly #ca: Buffer | undefined;
  readonly #guard: ConnectionGuard | undefined;
  readonly #plain = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #secure = new SecureAgent({ keepAlive: true, maxSockets: 1 });
  #host = "";

  constructor({ certPath = "", ca, guard }: HttpClientOptions = {}) {
    this.#certPath = certPath;
    this.#ca = ca;
    this.#guard = guard;
  }

  /** The server that was asked last. */
  get host(): string {
    return this.#host;
  }

  /** Closes the connections. */
  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  /** @throws HttpFailure, or what the signal was aborted with */
  async send(message: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    this.#host = message.url.host;
    checkUser(message.url);
    const lookup = this.#guard?.admit(message.url);
    const ca = message.url.protocol === "https:" ? await this.#authorities() : undefined;
    for (;;) {
      const { answer, isReused } = this.#exchange(message, { ca, lookup }, signal);
      try {
        return await answer;
      } catch (error) {
        signal.throwIfAborted();
        // The server closed the connection just then, as it may after a while without requests.
        if (isReused() && errorCode(error) === "ECONNRESET") continue;
        if (error instanceof HttpFailure) throw error;
        throw new HttpFailure(
          "unreachable",
          `${message.url.host} can't be reached: ${cut((error as Error).message)}`,
          {
            cause: error,
          },
        );
      }
    }
  }

  #exchange(
    { method, url, headers, body, maxBytes }: HttpRequest,
    connection: { readonly ca: Buffer | undefined; readonly lookup: LookupFunction | undefined },
    signal: AbortSignal,
  ): { readonly answer: Promise<HttpAnswer>; readonly isReused: () => boolean } {
    const { ca, lookup } = connection;
    const options: RequestOptions = { method, headers, signal, ...(lookup === undefined ? {} : { lookup }) };
    const sent =
      url.protocol === "https:"
        ? secureRequest(url, { ...options, agent: this.#secure, ...(ca === undefined ? {} : { ca }) })
        : request(url, { ...options, agent: this.#plain });
    let informational = 0;
    sent.on("information", () => {
      if (++informational !== maxInformational) return;
      const why = `${url.host} sent ${maxInformational} answers 1xx instead of an answer`;
      sent.destroy(new HttpFailure("unexpected_status", why));
    });
    const answer = responseTo(sent).then((response) => readAnswer(response, maxBytes));
    sent.end(body);
    return { answer, isReused: () => sent.reusedSocket };
  }

  async #authorities(): Promise<Buffer | undefined> {
    if (this.#certPath === "") return this.#ca;
    try {
      return await readSmallFile(this.#certPath, maxCertificateBytes);
    } catch (error) {
      const { cause } = error as Error;
      throw new HttpFailure("certificate", `"certPath" ${this.#certPath} can't be read`, { cause });
    }
  }
}

async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<HttpAnswer> {
  const { statusCode: status = 0, headers } = response;
  const isSuccess = status >= 200 && status < 300;
  const limit = isSuccess ? maxBytes : maxErrorBytes;
  const gathered = new GatheredBytes();
  const announced = Number(headers["content-length"] ?? 0);
  if (isSuccess && announced > limit) {
    response.destroy();
    throw tooLarge(`${announced} bytes`, limit);
  }
  // Leaving the loop destroys the response, and its connection with it.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    gathered.push(chunk);
    if (gathered.length <= limit) continue;
    if (isSuccess) throw tooLarge("more", limit);
    break;
  }
  return { status, headers, body: gathered.take() };
}

export function tooLarge(what: string, limit: number): HttpFailure {
  return new HttpFailure(
    "too_large",
    `the answer has ${what}, but there is memory for ${limit} here: give this process more, or serve fewer flags`,
  );
}
