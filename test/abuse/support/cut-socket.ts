import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { resetSocket } from "../../support/reset-socket.js";

export interface Cut {
  /** The direction whose bytes count. */
  readonly of: "toServer" | "toClient";
  readonly afterBytes: number;
  /** RST; otherwise FIN, after which the server may still answer. */
  readonly isReset: boolean;
}

/** A connection that ends after a number of bytes, at any point of what TLS writes on it. */
export class CutSocket extends Duplex {
  readonly bytes = { toServer: 0, toClient: 0 };
  readonly #socket: Socket;
  readonly #cut: Cut | undefined;
  #isCut = false;

  /** @param cut without one, the connection lasts. */
  constructor(port: number, cut?: Cut) {
    super();
    this.#cut = cut;
    this.#socket = createConnection(port, "127.0.0.1");
    this.#socket.on("error", () => undefined);
    this.#socket.on("data", (chunk: Buffer) => {
      const passed = this.#pass("toClient", chunk);
      if (passed.length > 0) this.push(passed);
    });
    this.#socket.on("close", () => this.destroy());
    // A cut after nothing at all.
    this.#socket.on("connect", () => this.#pass("toServer", Buffer.alloc(0)));
  }

  /** Resolves when the connection has ended on both sides. */
  async gone(): Promise<void> {
    if (!this.#socket.closed) await once(this.#socket, "close");
  }

  override _read(): void {
    // What arrives is pushed.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    const rest = this.#cut?.of === "toServer" ? this.#cut.afterBytes - this.bytes.toServer : Infinity;
    if (this.#isCut) callback();
    else this.#socket.write(chunk.subarray(0, rest), () => callback());
    this.#pass("toServer", chunk);
  }

  override _destroy(_error: Error | null, callback: () => void): void {
    this.#socket.destroy();
    callback();
  }

  /** Counts the bytes of a direction, and cuts if it is time. Returns those that are before the cut. */
  #pass(direction: Cut["of"], chunk: Buffer): Buffer {
    if (this.#isCut) return chunk.subarray(0, 0);
    const limit = this.#cut?.of === direction ? this.#cut.afterBytes : Infinity;
    const passed = chunk.subarray(0, limit - this.bytes[direction]);
    this.bytes[direction] += passed.length;
    if (this.bytes[direction] >= limit) {
      this.#isCut = true;
      if (this.#cut?.isReset === true) resetSocket(this.#socket);
      else this.#socket.end();
    }
    return passed;
  }
}
