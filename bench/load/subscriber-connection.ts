import { connect, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";
import { FrameReader, type FrameHandler } from "./frame-reader.js";
import {
  connectionOpening,
  defaultWindowBytes,
  grpcRequest,
  pingAck,
  settingsAck,
  windowUpdateBytes,
  writeWindowUpdate,
} from "./http2-frames.js";
import type { MessageHead } from "./message-head.js";
import { MessageReader } from "./message-reader.js";
import type { SubscriberProtocol } from "./subscriber-protocol.js";

export interface SubscriberConnectionOptions {
  readonly host: string;
  readonly port: number;
  /** The address to connect from: one address has ports for only 28,000 connections. */
  readonly localAddress?: string;
  readonly protocol: SubscriberProtocol;
  /** Connects by TLS, and trusts every certificate. */
  readonly usesTls?: boolean;
  /** In PEM. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
  /** The ticket of a session of TLS to resume. */
  readonly session?: Buffer;
  /** How many subscriptions, each on its own stream. */
  readonly streams: number;
  /** Initial window of the connection and each stream: 65,535 bytes is what most gRPC clients start with. */
  readonly windowBytes?: number;
  /** `connectionRequests` of these options, to share between many equal connections. Default: created for this one. */
  readonly requests?: Buffer;
  /** @param stream from 0. */
  readonly onMessage: (stream: number, head: MessageHead, length: number) => void;
  /** Called once if the connection or a stream ends for any reason other than `close`. */
  readonly onEnd: (error: Error) => void;
}

export type ConnectionRequestsInput = Pick<
  SubscriberConnectionOptions,
  "host" | "port" | "protocol" | "streams" | "windowBytes"
>;

/** Everything that a connection sends at first: the preface, its settings, and one request for each stream. */
export function connectionRequests(input: ConnectionRequestsInput): Buffer {
  const { host, port, protocol, streams, windowBytes = defaultWindowBytes } = input;
  const { path, opening, isHalfClosed } = protocol;
  const headers = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", `${host}:${port}`],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...protocol.headers,
  ] as const;
  const requests = Array.from({ length: streams }, (_, index) =>
    grpcRequest({ streamId: streamIdOf(index), headers, opening, isHalfClosed }),
  );
  return Buffer.concat([connectionOpening(windowBytes), ...requests]);
}

/** Clients number their streams 1, 3, 5 … */
function streamIdOf(index: number): number {
  return 2 * index + 1;
}

interface SubscriberStream {
  readonly id: number;
  readonly messages: MessageReader;
  /** Bytes read that have not been added to the window again. */
  unacknowledgedBytes: number;
}

/** The certificate is not what is measured. */
export const trusting = { rejectUnauthorized: false, ALPNProtocols: ["h2"] };
/** All sockets read into the same buffer: each read is processed before the next begins. */
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * One connection with its subscriptions, hand-written on a plain socket: node:http2 clients would need more CPU than the server, and the
 * measurement would be of them. It follows the protocol: it updates a window when three quarters are used (at half, it would be busier
 * than the floor), and answers PING and SETTINGS.
 */
export class SubscriberConnection implements FrameHandler {
  readonly #options: SubscriberConnectionOptions;
  readonly #socket: Socket;
  readonly #frames: FrameReader;
  readonly #streams: readonly SubscriberStream[];
  readonly #updateAtBytes: number;
  #unacknowledgedBytes = 0;
  /** Streams that need a WINDOW_UPDATE. */
  #due: SubscriberStream[] = [];
  /** The window for sending on each stream that is not half-closed. The few answers of a run fit into the first one. */
  #answerWindowBytes = defaultWindowBytes;
  #isClosed = false;

  constructor(options: SubscriberConnectionOptions) {
    const { host, port, localAddress, windowBytes = defaultWindowBytes } = options;
    this.#options = options;
    this.#updateAtBytes = Math.floor((windowBytes * 3) / 4);
    this.#frames = new FrameReader(this);
    this.#streams = Array.from({ length: options.streams }, (_, index) => this.#stream(index));
    const where = {
      host,
      port,
      ...(localAddress === undefined ? {} : { localAddress }),
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (bytesRead: number) => {
          this.#frames.push(readBuffer, 0, bytesRead);
          this.#updateWindows();
          return true;
        },
      },
    };
    this.#socket =
      options.usesTls === true
        ? connectTls({ ...where, ...trusting, ...options.clientCertificate, session: options.session })
        : connect(where);
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the server closed the connection")));
    this.#socket.write(options.requests ?? connectionRequests(options));
  }

  /** Its session of TLS was begun by another connection. */
  get isResumed(): boolean {
    return this.#socket instanceof TLSSocket && this.#socket.isSessionReused();
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  onData(streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#streamOf(streamId)?.messages.push(bytes, start, end);
  }

  onDataFrame(streamId: number, frameBytes: number): void {
    this.#unacknowledgedBytes += frameBytes;
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    const before = stream.unacknowledgedBytes;
    stream.unacknowledgedBytes += frameBytes;
    if (before < this.#updateAtBytes && stream.unacknowledgedBytes >= this.#updateAtBytes)
      this.#due.push(stream);
  }

  onSettings(): void {
    this.#socket.write(settingsAck);
  }

  onPing(opaque: Buffer): void {
    this.#socket.write(pingAck(opaque));
  }

  onEnd(detail: string): void {
    this.#fail(new Error(`the server sent ${detail}`));
  }

  /** Called once per read. */
  #updateWindows(): void {
    const isConnectionDue = this.#unacknowledgedBytes >= this.#updateAtBytes;
    const count = this.#due.length + Number(isConnectionDue);
    if (count === 0 || this.#isClosed) return;
    const updates = Buffer.allocUnsafe(count * windowUpdateBytes);
    let at = 0;
    for (const stream of this.#due) {
      writeWindowUpdate(updates, at, stream.id, stream.unacknowledgedBytes);
      stream.unacknowledgedBytes = 0;
      at += windowUpdateBytes;
    }
    if (this.#due.length > 0) this.#due = [];
    if (isConnectionDue) {
      writeWindowUpdate(updates, at, 0, this.#unacknowledgedBytes);
      this.#unacknowledgedBytes = 0;
    }
    this.#socket.write(updates);
  }

  #stream(index: number): SubscriberStream {
    const { readHead, headBytes } = this.#options.protocol;
    const messages = new MessageReader({
      readHead,
      headBytes,
      onMessage: (head, length, number) => {
        if (head.answer !== undefined) this.#answer(head.answer(number));
        this.#options.onMessage(index, head, length);
      },
      onError: (error) => this.#fail(error),
    });
    return { id: streamIdOf(index), messages, unacknowledgedBytes: 0 };
  }

  #streamOf(id: number): SubscriberStream | undefined {
    const stream = this.#streams[(id - 1) >> 1];
    if (stream === undefined) this.#fail(new Error(`the server sent DATA on stream ${id}`));
    return stream;
  }

  #answer(frame: Buffer): void {
    this.#answerWindowBytes -= frame.length;
    if (this.#answerWindowBytes < 0)
      this.#fail(new Error("more answers than the first window of a stream takes"));
    else this.#socket.write(frame);
  }

  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.close();
    this.#options.onEnd(error);
  }
}
