import { constants, Http2ServerResponse, type Http2ServerRequest } from "node:http2";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";

/** Sends an answer in small pieces. */
export interface Drip {
  readonly bytesPerWrite: number;
  /** Between two writes; 0 is a turn of the event loop. */
  readonly everyMs: number;
}

/**
 * One request and its answer, over HTTP/2 or HTTP/1.1, with all the ways an answer can go wrong. Bytes go out in the order they were
 * written, each write on its own, so that the client sees the splits that a test makes. Once it is closed, by either side, writes do
 * nothing.
 */
export class Exchange {
  readonly method: string;
  readonly uri: string;
  readonly headers: IncomingMessage["headers"];
  /** Resolves when the answer is over, whole or not. */
  readonly closed: Promise<void>;
  readonly #request: Http2ServerRequest | IncomingMessage;
  readonly #response: Http2ServerResponse | ServerResponse;
  readonly #abort = new AbortController();
  #drip: Drip | undefined;
  #cut: { afterBytes: number; how: "reset" | "end" } | undefined;
  #queue: Promise<void> = Promise.resolve();
  readonly #connection: object;
  #isHeld = false;
  #status: number | undefined;
  /** Writes after the end are dropped: node would reset the stream. */
  #isEnded = false;

  constructor(request: Http2ServerRequest | IncomingMessage, response: Http2ServerResponse | ServerResponse) {
    this.#request = request;
    this.#response = response;
    this.method = request.method ?? "";
    this.uri = request.url ?? "";
    this.headers = request.headers;
    const isHttp2 = response instanceof Http2ServerResponse;
    this.#connection = (isHttp2 ? response.stream.session : undefined) ?? request.socket;
    this.closed = new Promise((resolve) => response.once("close", resolve));
    void this.closed.then(() => this.#abort.abort());
    response.on("error", () => undefined);
    if (response instanceof Http2ServerResponse) response.stream.on("error", () => undefined);
  }

  get isClosed(): boolean {
    return this.#abort.signal.aborted;
  }

  /** The status of the answer, once its head was sent. */
  get status(): number | undefined {
    return this.#status;
  }

  /** True while a fault keeps it without a head, or lets its bytes drip: nobody should wait for its answer. */
  get isHeld(): boolean {
    return (this.#isHeld || this.#drip !== undefined) && !this.isClosed;
  }

  /** Keeps it without a head until then, or until it is closed. */
  async hold(until: Promise<unknown>): Promise<void> {
    this.#isHeld = true;
    await Promise.race([until, this.closed]);
    this.#isHeld = false;
  }

  /** Aborts when the answer is over. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The connection it came on: an HTTP/2 session, or a socket. */
  get connection(): object {
    return this.#connection;
  }

  get protocol(): "h2" | "http/1.1" {
    return this.#response instanceof Http2ServerResponse ? "h2" : "http/1.1";
  }

  async body(): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#request) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  }

  head(status: number, headers: OutgoingHttpHeaders = {}): void {
    if (this.isClosed) return;
    this.#status = status;
    this.#response.writeHead(status, headers);
    // Both classes of response have this method, but no common type.
    (this.#response as ServerResponse).flushHeaders();
  }

  /** Resolves when the bytes are with the transport, or the answer is over. They go out no sooner than `delayMs` from now. */
  async write(bytes: string | Buffer, delayMs = 0): Promise<void> {
    const notBefore = performance.now() + delayMs;
    return this.#enqueue(async () => {
      const waitMs = notBefore - performance.now();
      if (delayMs > 0 && waitMs > 0) await pause(waitMs, this.#abort.signal);
      const buffer = Buffer.from(bytes);
      const step = this.#drip?.bytesPerWrite ?? buffer.length;
      for (let from = 0; from < buffer.length && !this.isClosed; from += step) {
        await this.#send(buffer.subarray(from, from + step));
        if (this.#drip !== undefined) await pause(this.#drip.everyMs, this.#abort.signal);
      }
    });
  }

  /** Ends the answer properly, after what was written. */
  async end(): Promise<void> {
    return this.#enqueue(() => {
      this.#isEnded = true;
      this.#response.end();
    });
  }

  async answer(status: number, headers: OutgoingHttpHeaders, body: string | Buffer): Promise<void> {
    this.head(status, headers);
    await this.write(body);
    await this.end();
  }

  /** RST_STREAM; the connection is destroyed where there are no streams. */
  reset(code: number = constants.NGHTTP2_INTERNAL_ERROR): void {
    if (this.isClosed) return;
    if (this.#response instanceof Http2ServerResponse) this.#response.stream.close(code);
    else this.#response.socket?.destroy();
  }

  /** Ends the answer too early: END_STREAM over HTTP/2, FIN without the last chunk over HTTP/1.1. */
  breakOff(): void {
    if (this.isClosed) return;
    if (this.#response instanceof Http2ServerResponse) this.#response.stream.end();
    else this.#response.socket?.end();
  }

  /** Lets the connection take no further requests; open ones continue. */
  goAway(code: number = constants.NGHTTP2_NO_ERROR): void {
    if (this.isClosed) return;
    if (this.#response instanceof Http2ServerResponse) {
      const { session } = this.#response.stream;
      if (code === constants.NGHTTP2_NO_ERROR) session?.close();
      else session?.goaway(code);
    } else if (!this.#response.headersSent) this.#response.setHeader("connection", "close");
  }

  /** From now on bytes go out in small pieces. */
  drip(drip: Drip | undefined): void {
    this.#drip = drip;
  }

  /** Breaks off or resets after this many more bytes of the body, wherever that is. */
  cutAfter(afterBytes: number, how: "reset" | "end"): void {
    this.#cut = { afterBytes, how };
  }

  async #send(bytes: Buffer): Promise<void> {
    const allowed = this.#cut === undefined ? bytes : bytes.subarray(0, this.#cut.afterBytes);
    if (allowed.length > 0) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          this.#abort.signal.removeEventListener("abort", done);
          resolve();
        };
        this.#abort.signal.addEventListener("abort", done);
        (this.#response as ServerResponse).write(allowed, done);
      });
    }
    if (this.#cut === undefined) return;
    this.#cut.afterBytes -= allowed.length;
    if (this.#cut.afterBytes > 0) return;
    // The written bytes must be on their way before the stream is torn down.
    await nextTurn();
    if (this.#cut.how === "reset") this.reset();
    else this.breakOff();
    this.#abort.abort();
  }

  async #enqueue(step: () => Promise<void> | void): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      if (!this.isClosed && !this.#isEnded) await step();
    });
    return this.#queue;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) await nextTurn();
  else await delay(ms, undefined, { signal }).catch(() => undefined);
}
