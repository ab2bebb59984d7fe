import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { syncV1 } from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { versionOf } from "./manifests.js";

/**
 * Subscribers that do not read: their HTTP/2 window is closed, so that the first document blocks. `resume` opens the window, and from then
 * on they read like any other subscriber. Each has its own session, so that each costs the proxy a connection.
 */
export class StalledSubscriber {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  readonly #chunks: Buffer[] = [];
  /** Versions of the documents that arrived complete, in order. */
  readonly versions: number[] = [];
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>;
  /** The code of the RST_STREAM that ended the stream; undefined if it ended otherwise. */
  resetCode: number | undefined;

  constructor(address: string, selector: string) {
    this.#session = connect(`http://${address}`, { settings: { initialWindowSize: 0 } });
    this.#session.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.#session.once("close", resolve));
    this.#stream = this.#session.request({
      ":method": "POST",
      ":path": "/flagd.sync.v1.FlagSyncService/SyncFlags",
      "content-type": "application/grpc",
      te: "trailers",
    });
    this.#stream.on("error", () => undefined);
    this.#stream.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#stream.once("close", () => {
      if (this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.resetCode = this.#stream.rstCode;
    });
    this.#stream.pause();
    const request = syncV1.SyncFlagsRequest.encode({ providerId: "stalled", selector }).finish();
    this.#stream.end(frameMessage(request));
  }

  /** Resolves once response headers have arrived: the subscription exists. */
  get opened(): Promise<void> {
    return new Promise((resolve) => this.#stream.once("response", () => resolve()));
  }

  resume(): void {
    this.#session.settings({ initialWindowSize: 1024 * 1024 });
    this.#stream.resume();
  }

  destroy(): void {
    this.#session.destroy();
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk);
    let bytes = Buffer.concat(this.#chunks);
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      const end = 5 + bytes.readUInt32BE(1);
      this.versions.push(
        versionOf(syncV1.SyncFlagsResponse.decode(bytes.subarray(5, end)).flagConfiguration),
      );
      bytes = bytes.subarray(end);
    }
    this.#chunks.splice(0, this.#chunks.length, bytes);
  }
}
