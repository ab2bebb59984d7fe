import { statusTrailers, type RpcError, type RpcStatus, type StatusName } from "@bunting/rpc";
import { spendAnswer, type HttpExchange } from "@bunting/server";
import type { OutgoingStream } from "../outgoing-stream.js";
import { encodeBase64 } from "./base64-body.js";
import { compress, encodingHeaders, type Compression } from "./compression.js";
import { connectErrorJson, connectHttpStatus, type FailureCode } from "./connect-error.js";
import type { CallType } from "./content-type.js";
import { connectEnd, envelope, webTrailers } from "./envelope.js";

type Headers = Readonly<Record<string, string>>;
/** Why a call has no answer. */
export type CallFailure = Pick<RpcError, "message" | "trailers"> & { readonly code: FailureCode };

const ok: RpcStatus = { code: "OK", message: "" };

/** How a call of one of these protocols is answered. */
export class CallAnswer {
  readonly #exchange: HttpExchange;
  readonly #type: CallType;
  readonly #compression: Compression | undefined;

  /** @param compression undefined if the client uses an encoding that is not supported */
  constructor(exchange: HttpExchange, type: CallType, compression: Compression | undefined) {
    this.#exchange = exchange;
    this.#type = type;
    this.#compression = compression;
  }

  /** Answers a unary call. */
  reply(message: Buffer): void {
    const compression = this.#compression ?? { ofRequest: "identity", ofAnswer: "identity" };
    if (compression.ofAnswer === "gzip") spendAnswer(this.#exchange.request, message.length);
    if (this.#type.protocol !== "connect")
      this.#replyFramed(this.#encoded(envelope(message, compression)), ok);
    else if (compression.ofAnswer === "gzip")
      this.#exchange.reply(200, { ...this.#headers(), "content-encoding": "gzip" }, compress(message));
    else this.#exchange.reply(200, this.#headers(), message);
  }

  /** @param headers those that close the connection, if it must be */
  fail({ code, message, trailers }: CallFailure, headers: Headers = {}): void {
    switch (this.#type.protocol) {
      case "connect": {
        const { accepted } = encodingHeaders.connect;
        const json = connectErrorJson(code, message);
        const base = { "content-type": "application/json", [accepted]: "gzip" };
        this.#exchange.reply(connectHttpStatus[code], { ...base, ...headers }, json);
        break;
      }
      default:
        this.#replyFramed(undefined, { code, message, trailers }, headers);
    }
  }

  /**
   * Begins to answer a call with any number of messages.
   *
   * @param onEnd called once, when the call has ended; a client that has gone is no error of it
   */
  stream(onEnd: (code: StatusName, bytes: number, messages: number) => void): OutgoingStream {
    const exchange = this.#exchange;
    const encoded = this.#encoded.bind(this);
    const end = this.#end.bind(this);
    let code: StatusName = "OK";
    let bytes = 0;
    let messages = 0;
    exchange.begin(200, this.#headers());
    exchange.onClose(() => onEnd(code, bytes, messages));
    return {
      stream: exchange,
      header: (name) => exchange.header(name),
      writeShared: (frame, onWritten) => {
        bytes += frame.length;
        messages++;
        exchange.write(encoded(frame), onWritten);
      },
      end: (status) => {
        code = status.code;
        exchange.end(...end(status));
      },
      onClose: (listener) => exchange.onClose(listener),
    };
  }

  #replyFramed(frame: Uint8Array | undefined, status: RpcStatus, headers: Headers = {}): void {
    const [last, trailers] = this.#end(status);
    const parts = [frame, last].filter((part) => part !== undefined);
    this.#exchange.reply(200, { ...this.#headers(), ...headers }, Buffer.concat(parts), trailers);
  }

  /** The last bytes of a framed answer, and its trailers. */
  #end(status: RpcStatus): readonly [last: Uint8Array | undefined, trailers?: Headers] {
    switch (this.#type.protocol) {
      case "grpc":
        return [undefined, statusTrailers(status)];
      case "grpc-web":
        return [this.#encoded(webTrailers(statusTrailers(status)))];
      default: {
        const { code, message } = status;
        return [connectEnd(code === "OK" ? "{}" : `{"error":${connectErrorJson(code, message)}}`)];
      }
    }
  }

  /** A frame as it goes out, padded by itself: a client reads all that has come, up to the last four characters. */
  #encoded(frame: Uint8Array): Uint8Array {
    return this.#type.isBase64 ? encodeBase64(frame) : frame;
  }

  #headers(): Headers {
    const { contentType, protocol } = this.#type;
    const { used, accepted } = encodingHeaders[protocol];
    const headers = { "content-type": contentType, [accepted]: "gzip" };
    if (protocol === "connect" || this.#compression?.ofAnswer === "identity") return headers;
    // Empty if there is no common encoding, as in flagd. With gzip, each message says whether it is compressed.
    return { ...headers, [used]: this.#compression?.ofAnswer ?? "" };
  }
}
