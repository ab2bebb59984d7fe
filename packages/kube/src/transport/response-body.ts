import { Readable } from "node:stream";
import { KubeError } from "../kube-error.js";
import { abortedError, kubeErrorOf } from "./foreign-error.js";

export interface ResponseBodyOptions {
  /** The server's address, for messages. */
  readonly server: string;
  readonly signal: AbortSignal;
  /** True if the server ended the source. Asked at its end, because in node a broken stream may look like an ended one. */
  readonly isComplete: () => boolean;
  /** Called if the consumer does not want the rest. */
  readonly abandon: () => void;
}

/**
 * The body of an answer over HTTP/1.1 or HTTP/2: its errors are KubeErrors, and it ends only if the server ended it. The receiver need not
 * listen for errors at once: an error stays in the stream until it is read.
 */
export class ResponseBody extends Readable {
  readonly #source: Readable;
  readonly #options: ResponseBodyOptions;
  readonly #onAbort = (): void => void this.destroy(abortedError(this.#options.signal.reason));
  #isOver = false;

  constructor(source: Readable, options: ResponseBodyOptions) {
    super({ highWaterMark: 64 * 1024 });
    this.#source = source;
    this.#options = options;
    this.on("error", ignore);
    source
      .on("data", (chunk: Buffer) => {
        if (!this.push(chunk)) source.pause();
      })
      .on("end", () => this.#onEnd())
      .on("error", (error) => this.#fail(kubeErrorOf(error, options.server)))
      .on("close", () => this.#onEnd());
    if (options.signal.aborted) this.#onAbort();
    else options.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  override _read(): void {
    this.#source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    if (!this.#isOver) {
      this.#isOver = true;
      this.#source.removeAllListeners("data").pause();
      this.#options.abandon();
    }
    callback(error);
  }

  #onEnd(): void {
    if (this.#isOver) return;
    if (!this.#options.isComplete()) {
      this.#fail(
        new KubeError(
          "CONNECTION_LOST",
          `the connection to ${this.#options.server} broke in the middle of an answer`,
        ),
      );
      return;
    }
    this.#isOver = true;
    this.push(null);
  }

  #fail(error: KubeError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.destroy(error);
  }
}

function ignore(): void {
  // An error without a listener would end the process.
}
