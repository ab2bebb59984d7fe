import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { frameMessage, MessageDeframer, statusCode } from "@bunting/rpc/messages";
import { cut, errorCode } from "@bunting/runtime/options";
import { printableLine } from "../terminal/escaped-controls.js";
import { addressText } from "./server-address.js";
import { authorizationFor, connectionError, isTlsError, openConnection, type SyncServer } from "./server.js";

export interface SessionCallEnd {
  /** The gRPC status; undefined if the server sent none. */
  readonly status: number | undefined;
  readonly message: string;
  /** The server does not speak gRPC, or there can be no TLS with it: the next call would end in the same way. */
  readonly isHopeless?: true;
}

export interface CallListener {
  /** The server has accepted the call. */
  readonly opened?: () => void;
  /** Each message, in order. What it throws ends the call. */
  message(bytes: Buffer): void;
  /** Once, after the last message. */
  ended(end: SessionCallEnd): void;
}

/** The client's end of a call. */
export interface GrpcCall {
  /** Sends a message that is encoded already. */
  send(message: Uint8Array): void;
  /** No more messages follow. */
  finish(): void;
  cancel(): void;
}

export const grpcStatus = {
  notFound: statusCode.NOT_FOUND,
  permissionDenied: statusCode.PERMISSION_DENIED,
  unimplemented: statusCode.UNIMPLEMENTED,
  unauthenticated: statusCode.UNAUTHENTICATED,
} as const;

/** More than any FeatureFlag has. What is parsed may take forty times as much. */
const maxMessageBytes = 16 * 1024 * 1024;
/** Messages that the server has not read: each is some hundred bytes. */
const maxUnreadBytes = 1024 * 1024;
const connectTimeoutMs = 10_000;
/** How often a connection is sent a PING. It is given up if no answer comes within half of that. */
const keepaliveMs = 20_000;
/** How long a server may take to end calls that have ended here. */
const closeTimeoutMs = 1_000;

/** What the command has received is its own memory. */
const unlimited = { gather: () => true, ungather: () => undefined };

/** A connection of gRPC over HTTP/2. node:http2 is enough for the few calls of a command, and loads faster than a gRPC library. */
export class GrpcSession {
  readonly #session: ClientHttp2Session;
  readonly #headers: { readonly authorization?: string };
  readonly #server: SyncServer;
  readonly #streams = new Set<ClientHttp2Stream>();
  /** The server has spoken HTTP/2. */
  #isHttp2 = false;
  #failure: string | undefined;
  #isHopeless = false;
  #overdue: NodeJS.Timeout | undefined;

  /**
   * @param dialled a connection that is open already, such as through a port-forward
   * @throws CliError if the file with the token can't be read (any more)
   */
  constructor(server: SyncServer, dialled?: Duplex) {
    this.#headers = authorizationFor(server);
    this.#server = server;
    // Every connection is made here, so the authority is only a name.
    this.#session = connect(`${server.tls === undefined ? "http" : "https"}://${hostOf(server)}`, {
      createConnection: () => openConnection(server, "h2", dialled),
    });
    this.#session.on("error", (error: Error) => this.#note(error));
    const connecting = setTimeout(() => {
      this.#fail(`no HTTP/2 server has answered for ${connectTimeoutMs / 1_000} s`);
    }, connectTimeoutMs);
    this.#session.once("remoteSettings", () => {
      this.#isHttp2 = true;
      clearTimeout(connecting);
    });
    const pinging = setInterval(() => this.#ping(), keepaliveMs);
    this.#session.once("close", () => {
      for (const timer of [connecting, pinging, this.#overdue]) clearTimeout(timer);
    });
  }

  call(path: string, headers: Readonly<Record<string, string>>, listener: CallListener): GrpcCall {
    if (this.#session.destroyed || this.#session.closed) {
      queueMicrotask(() => listener.ended(this.#loss(undefined)));
      return { send: () => undefined, finish: () => undefined, cancel: () => undefined };
    }
    const stream = this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...this.#headers,
      ...headers,
    });
    this.#streams.add(stream);
    const end: { status?: number; message?: string; isHopeless?: true } = {};
    const note = (given: Record<string, unknown>): void => {
      if (given["grpc-status"] !== undefined) end.status = Number(given["grpc-status"]);
      if (typeof given["grpc-message"] === "string") end.message = decoded(given["grpc-message"]);
    };
    const messages = new MessageDeframer(maxMessageBytes, unlimited);
    let isRefused = false;
    stream.on("response", (given) => {
      note(given);
      const status = given[":status"];
      if (status !== 200) {
        end.message ??= `the server answered with HTTP status ${status ?? "none"}`;
        // What stands between, such as a gateway, answers 502 to 504 for a while.
        if (status !== undefined && status < 500) end.isHopeless = true;
      } else if (end.status === undefined) listener.opened?.();
    });
    stream.on("trailers", note);
    stream.on("data", (chunk: Buffer) => {
      if (isRefused) return;
      try {
        messages.push(chunk, (bytes, isCompressed) => {
          if (isCompressed) throw new Error("it is compressed, which was not asked for");
          listener.message(bytes);
        });
      } catch (error) {
        isRefused = true;
        end.message = `the server sent a message that can't be read: ${(error as Error).message}`;
        stream.close(constants.NGHTTP2_CANCEL);
      }
    });
    stream.on("error", (error: Error) => {
      // A connection that fails ends its streams first. Of these, the cause says why.
      if (!this.#isHttp2) this.#note(error.cause instanceof Error ? error.cause : error);
      end.message ??= error.cause instanceof Error ? error.cause.message : error.message;
    });
    stream.on("close", () => {
      this.#streams.delete(stream);
      messages.close();
      const { status, message, isHopeless } = end;
      if (status === undefined) listener.ended({ ...this.#loss(message), ...(isHopeless && { isHopeless }) });
      else listener.ended({ status, message: printableLine(cut(message ?? "")) });
    });
    return {
      send: (message) => {
        if (stream.closed || stream.destroyed) return;
        stream.write(frameMessage(message));
        if (stream.writableLength <= maxUnreadBytes) return;
        end.message = "the server does not read the answers that it wants";
        stream.close(constants.NGHTTP2_CANCEL);
      },
      finish: () => void stream.end(),
      cancel: () => stream.close(constants.NGHTTP2_CANCEL),
    };
  }

  /** The server has what was sent until now, such as the answer to a version: it would count one who is cut off as left behind. */
  close(): void {
    const open = [...this.#streams].filter((stream) => !stream.writableEnded);
    if (!this.#isHttp2 || open.length === 0) {
      this.#session.destroy();
      return;
    }
    const ending = setTimeout(() => this.#session.destroy(), closeTimeoutMs);
    this.#session.once("close", () => clearTimeout(ending));
    for (const stream of open) {
      stream.once("close", () => this.#session.destroy());
      stream.end();
    }
  }

  /** Why the connection failed says more than what became of a stream. */
  #loss(message: string | undefined): SessionCallEnd {
    // What a port of TLS does with plaintext.
    const isUnheard = !this.#isHttp2 && this.#server.tls === undefined;
    const closed = isUnheard
      ? "the connection was closed at once. Does the port want --tls?"
      : "the connection was closed";
    const reason = printableLine(cut(this.#failure ?? message ?? closed));
    return { status: undefined, message: reason, ...(this.#isHopeless ? { isHopeless: true } : {}) };
  }

  #note(error: Error): void {
    // Of a server that speaks something else, node says "Protocol error".
    const isOther = !this.#isHttp2 && errorCode(error) === "ERR_HTTP2_ERROR";
    this.#isHopeless ||= isOther || isTlsError(error);
    this.#failure ??= isOther ? "the port does not speak HTTP/2" : connectionError(error, this.#server);
  }

  #ping(): void {
    if (this.#session.closed || this.#session.destroyed) return;
    this.#overdue = setTimeout(() => this.#fail("the server does not answer any more"), keepaliveMs / 2);
    this.#session.ping(() => clearTimeout(this.#overdue));
  }

  #fail(reason: string): void {
    this.#failure ??= reason;
    this.#session.destroy();
  }
}

/** For the header :authority. */
function hostOf({ address }: SyncServer): string {
  return "socketPath" in address ? "localhost" : addressText(address);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
