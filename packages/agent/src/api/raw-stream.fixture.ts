import { framePrefixBytes } from "@bunting/rpc";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import { afterwards } from "./api.fixture.js";

/** A gRPC client whose reading a test can pause: it has a small window and reads nothing while paused. */
export class RawStream {
  readonly messages = new EventQueue<Buffer>();
  readonly closed: Promise<{ readonly rstCode: number }>;
  readonly trailers: Promise<Record<string, unknown>>;
  readonly session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #received = Buffer.alloc(0);

  constructor(
    port: number,
    path: string,
    request: Uint8Array,
    headers: Readonly<Record<string, string>> = {},
    windowBytes = 1_024,
  ) {
    this.session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: windowBytes } });
    this.session.on("error", () => undefined);
    afterwards(() => this.session.destroy());
    this.#stream = this.session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    this.#stream.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      this.#stream.once("close", () => resolve({ rstCode: this.#stream.rstCode }));
    });
    this.trailers = new Promise((resolve) => {
      this.#stream.once("trailers", resolve);
      this.#stream.once("response", (first: Record<string, unknown>) => {
        if ("grpc-status" in first) resolve(first);
      });
    });
    const frame = Buffer.alloc(framePrefixBytes + request.length);
    frame.writeUInt32BE(request.length, 1);
    frame.set(request, framePrefixBytes);
    this.#stream.end(frame);
  }

  /** Starts reading, or continues. */
  read(): void {
    if (this.#stream.listenerCount("data") === 0)
      this.#stream.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#stream.resume();
  }

  pause(): void {
    this.#stream.pause();
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      if (this.#received.length < framePrefixBytes) return;
      const end = framePrefixBytes + this.#received.readUInt32BE(1);
      if (this.#received.length < end) return;
      this.messages.push(this.#received.subarray(framePrefixBytes, end));
      this.#received = this.#received.subarray(end);
    }
  }
}
