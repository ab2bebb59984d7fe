import { connect, type Socket } from "node:net";
import { FrameReader, type FrameHandler } from "./frame-reader.js";
import {
  connectionOpening,
  defaultWindowBytes,
  grpcRequest,
  pingAck,
  settingsAck,
  windowUpdates,
} from "./http2-frames.js";
import { MessageReader, type ReadSequence } from "./message-reader.js";

export interface SubscriberOptions {
  readonly host: string;
  readonly port: number;
  /** The address to connect from: one has ports for 28,000 connections only. */
  readonly localAddress?: string;
  readonly path: string;
  readonly selector: string;
  /** Initial window of stream and connection: 65,535 bytes is what most gRPC clients start with. */
  readonly windowBytes?: number;
  readonly readSequence: ReadSequence;
  readonly headBytes: number;
  readonly onMessage: (sequence: number, length: number) => void;
  /** Called once if the connection or its stream ends, however that came about, unless `close` was called. */
  readonly onEnd: (error: Error) => void;
}

/** All sockets read into the same memory: each read is dealt with before the next begins. */
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024);
const streamId = 1;
const emptyMessage = new Uint8Array(0);

/**
 * One connection with one subscription, by hand on a plain socket: with a client of node:http2 the clients would need more CPU than the
 * server, and the measurement would be of them. It keeps to the protocol: windows are given back at half, pings and settings answered.
 */
export class Subscriber implements FrameHandler {
  readonly #options: SubscriberOptions;
  readonly #socket: Socket;
  readonly #frames: FrameReader;
  readonly #messages: MessageReader;
  readonly #updateAtBytes: number;
  #unacknowledgedBytes = 0;
  #isClosed = false;

  constructor(options: SubscriberOptions) {
    const { host, port, localAddress, windowBytes = defaultWindowBytes } = options;
    this.#options = options;
    this.#updateAtBytes = Math.floor(windowBytes / 2);
    this.#frames = new FrameReader(this);
    this.#messages = new MessageReader({
      readSequence: options.readSequence,
      headBytes: options.headBytes,
      onMessage: options.onMessage,
      onError: (error) => this.#fail(error),
    });
    this.#socket = connect({
      host,
      port,
      ...(localAddress === undefined ? {} : { localAddress }),
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (bytesRead) => {
          this.#frames.push(readBuffer, 0, bytesRead);
          this.#updateWindows();
          return true;
        },
      },
    });
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the server closed the connection")));
    this.#socket.write(Buffer.concat([connectionOpening(windowBytes), this.#request()]));
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  onData(bytes: Buffer, start: number, end: number): void {
    this.#messages.push(bytes, start, end);
  }

  onDataFrame(frameBytes: number): void {
    this.#unacknowledgedBytes += frameBytes;
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

  /** Once for all that one read brought. */
  #updateWindows(): void {
    if (this.#unacknowledgedBytes < this.#updateAtBytes || this.#isClosed) return;
    this.#socket.write(windowUpdates(streamId, this.#unacknowledgedBytes));
    this.#unacknowledgedBytes = 0;
  }

  #request(): Buffer {
    const { host, port, path, selector } = this.#options;
    const headers = [
      [":method", "POST"],
      [":scheme", "http"],
      [":path", path],
      [":authority", `${host}:${port}`],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ["flagd-selector", selector],
    ] as const;
    return grpcRequest(streamId, headers, emptyMessage);
  }

  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.close();
    this.#options.onEnd(error);
  }
}
