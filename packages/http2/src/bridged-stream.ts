import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable, Writable } from "node:stream";
import { httpDate } from "./http-date.js";
import { setAccount, setShare } from "./request-account.js";
import { encodeHeaders, type OutgoingHeaders } from "./hpack/header-encoder.js";
import type { StreamOwner } from "./http2-stream.js";
import { PlainStream } from "./plain-stream.js";
import { connectionHeaders, type RequestHead } from "./request-head.js";

/**
 * A request that is handed to a listener written for node:http. The request and the response have what such listeners use of node's, and behave as
 * node's do; what belongs to connections of HTTP/1.1 is missing.
 */
export class BridgedStream extends PlainStream {
  readonly #request: BridgedRequest;
  readonly #response: BridgedResponse;
  readonly #hasNoContent: boolean;
  #unsentBytes = 0;
  #onEndSent: (() => void) | undefined;

  constructor(session: StreamOwner, id: number, head: RequestHead, hasEnded: boolean) {
    super(session, id, head, hasEnded);
    this.#request = new BridgedRequest(this, session.socket);
    this.#response = new BridgedResponse(this, this.#request);
    this.#hasNoContent = head.text(":method") === "HEAD";
  }

  begin(onRequest: RequestListener): void {
    setAccount(this.#request as unknown as IncomingMessage, this.session.account);
    setShare(this.#request as unknown as IncomingMessage, this.session);
    if (this.head.text(":method") === "CONNECT") {
      this.#request.resume();
      this.#response.statusCode = 405;
      this.#response.end();
      return;
    }
    if (this.head.text("expect")?.toLowerCase() === "100-continue")
      this.session.sendInformational(this.id, encodeHeaders({ ":status": 100 }));
    // The types are unrelated.
    onRequest(
      this.#request as unknown as IncomingMessage,
      this.#response as unknown as ServerResponse & { req: IncomingMessage },
    );
    // A body that the listener does not read is dropped, or a window of it would wait here while the answer does.
    if (this.#request.readableFlowing !== true) this.#request.resume();
    this.deliverEnd();
  }

  /** An answer that has begun, and of which everything is sent, may go on later: it is a stream of events. */
  override isStalledSince(tick: number): boolean {
    const response = this.#response;
    const unsentBytes = response.writableLength;
    const isQuiet =
      unsentBytes === 0 && response.headersSent && this.hasRequestEnded && !response.writableEnded;
    if (isQuiet || unsentBytes !== this.#unsentBytes) {
      this.#unsentBytes = unsentBytes;
      this.proceed();
    }
    return super.isStalledSince(tick);
  }

  respond(headers: OutgoingHeaders): void {
    if (this.isOpen) this.sendHeaders(encodeHeaders(headers));
  }

  write(piece: Uint8Array, onWritten: (error?: Error) => void): void {
    if (this.#hasNoContent) process.nextTick(onWritten);
    else this.send(piece, "answer", onWritten);
  }

  finish(trailers: OutgoingHeaders | undefined, onSent: () => void): void {
    if (this.isOpen) {
      this.#onEndSent = onSent;
      this.sendEnd(trailers === undefined ? undefined : encodeHeaders(trailers));
    } else process.nextTick(onSent);
  }

  override onData(piece: Buffer): void {
    if (!this.#request.push(piece)) this.pauseReading();
  }

  override onEnd(): void {
    this.#request.complete = true;
    this.#request.push(null);
    super.onEnd();
  }

  protected override onLeftOpen(): void {
    this.#ended();
    super.onLeftOpen();
  }

  protected override onClosed(): void {
    super.onClosed();
    // The rest of a whole request is still read.
    if (!this.#request.complete) this.#request.destroy();
    if (this.isAnswered) this.#ended();
    else this.#response.destroy();
  }

  #ended(): void {
    const onEndSent = this.#onEndSent;
    this.#onEndSent = undefined;
    onEndSent?.();
  }
}

/** The part of an IncomingMessage that listeners use. */
class BridgedRequest extends Readable {
  readonly method: string;
  readonly url: string;
  readonly httpVersion = "2.0";
  readonly httpVersionMajor = 2;
  readonly httpVersionMinor = 0;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  /** The socket of the connection, for its addresses. */
  readonly socket: Socket;
  complete = false;
  readonly #stream: BridgedStream;

  constructor(stream: BridgedStream, socket: Socket) {
    super();
    const { head } = stream;
    this.#stream = stream;
    this.method = head.text(":method") ?? "";
    this.url = head.path;
    this.headers = head.joined();
    this.rawHeaders = head.rawHeaders;
    this.socket = socket;
  }

  override _read(): void {
    this.#stream.resumeReading();
  }
}

/** The part of a ServerResponse that listeners use. */
class BridgedResponse extends Writable {
  readonly req: BridgedRequest;
  statusCode = 200;
  headersSent = false;
  readonly #stream: BridgedStream;
  readonly #headers: Record<string, string | number | readonly string[]> = {};
  #trailers: OutgoingHeaders | undefined;

  constructor(stream: BridgedStream, request: BridgedRequest) {
    super();
    this.#stream = stream;
    this.req = request;
    // An answer that can't be sent ends the stream, which is handled.
    this.on("error", ignore);
  }

  get socket(): Socket {
    return this.req.socket;
  }

  setHeader(name: string, value: string | number | readonly string[]): this {
    const lowerCase = name.toLowerCase();
    if (!connectionHeaders.has(lowerCase)) this.#headers[lowerCase] = value;
    return this;
  }

  writeHead(
    status: number,
    headers: Readonly<Record<string, string | number | readonly string[]>> = {},
  ): this {
    this.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    this.flushHeaders();
    return this;
  }

  flushHeaders(): void {
    if (this.headersSent) return;
    this.headersSent = true;
    const date = this.#headers["date"] ?? httpDate();
    this.#stream.respond({ ":status": this.statusCode, ...this.#headers, date });
  }

  addTrailers(trailers: OutgoingHeaders): void {
    this.#trailers = { ...this.#trailers, ...trailers };
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.flushHeaders();
    this.#stream.write(chunk, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.flushHeaders();
    this.#stream.finish(this.#trailers, callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.writableFinished) this.#stream.reset("CANCEL");
    callback(error);
  }
}

function ignore(): void {
  // Without a listener, node would raise an uncaught exception.
}
