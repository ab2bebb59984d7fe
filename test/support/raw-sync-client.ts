import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { syncV1 } from "@bunting/protocol";

/** A client on plain node:http2: cheap enough for a thousand of them, and it can stop reading, which a gRPC library does not allow. */
export class RawSyncConnection {
  readonly #session: ClientHttp2Session;

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
  }

  /**
   * @param windowBytes the initial window of a stream.
   * @param tls with it, the connection is encrypted.
   */
  static async open(
    port: number,
    windowBytes = 65_535,
    tls?: SecureClientSessionOptions,
  ): Promise<RawSyncConnection> {
    const scheme = tls === undefined ? "http" : "https";
    const settings = { initialWindowSize: windowBytes };
    const session = connect(`${scheme}://127.0.0.1:${port}`, { ...tls, settings });
    session.on("error", () => undefined);
    // Once our SETTINGS are acknowledged, the window applies to every stream.
    await once(session, "localSettings");
    return new RawSyncConnection(session);
  }

  /** Of the certificate that the server has presented. */
  get serialNumber(): string {
    return (this.#session.socket as TLSSocket).getPeerCertificate().serialNumber;
  }

  subscribe(selector: string, headers: Readonly<Record<string, string>> = {}): RawSyncStream {
    const stream = this.#session.request({
      ":method": "POST",
      ":path": "/flagd.sync.v1.FlagSyncService/SyncFlags",
      "content-type": "application/grpc+proto",
      te: "trailers",
      ...headers,
    });
    const request = syncV1.SyncFlagsRequest.encode({ providerId: "", selector }).finish();
    const frame = Buffer.alloc(5 + request.length);
    frame.writeUInt32BE(request.length, 1);
    frame.set(request, 5);
    stream.end(frame);
    return new RawSyncStream(stream);
  }

  close(): void {
    this.#session.destroy();
  }
}

/** One SyncFlags stream: how many documents arrived, the last of them, and how it ended. */
export class RawSyncStream {
  /** The `f.state` of each document, in the order of arrival. */
  readonly versions: string[] = [];
  status: number | undefined;
  resetCode: number | undefined;
  readonly #stream: ClientHttp2Stream;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    stream.on("error", () => undefined);
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
    stream.on("trailers", (trailers: IncomingHttpHeaders) => (this.status = Number(trailers["grpc-status"])));
    stream.on("close", () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.resetCode = stream.rstCode;
    });
  }

  get last(): string | undefined {
    return this.versions.at(-1);
  }

  /** Stops reading: nothing arrives beyond its buffer of 16 KB and the window. */
  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  #read(chunk: Buffer): void {
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    for (let frame = this.#nextFrame(); frame !== undefined; frame = this.#nextFrame()) {
      const { flagConfiguration } = syncV1.SyncFlagsResponse.decode(frame);
      this.versions.push(
        /"f":\{(?:"defaultVariant":"[^"]*",)?"state":"([^"]*)"/.exec(flagConfiguration)?.[1] ??
          flagConfiguration,
      );
    }
  }

  #nextFrame(): Buffer | undefined {
    if (this.#pendingBytes < 5) return undefined;
    const whole = this.#pending.length === 1 ? this.#pending[0] : Buffer.concat(this.#pending);
    if (whole === undefined) return undefined;
    const length = 5 + whole.readUInt32BE(1);
    this.#pending = [whole];
    if (whole.length < length) return undefined;
    this.#pending = [whole.subarray(length)];
    this.#pendingBytes = whole.length - length;
    return whole.subarray(5, length);
  }
}
