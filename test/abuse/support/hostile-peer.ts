import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import {
  dataFrame,
  frame,
  frameFlag,
  frameHeaderBytes,
  frameType,
  pingAck,
  preface,
  settingsAck,
} from "../../../bench/load/http2-frames.js";

export interface HostilePeerOptions {
  /** An address of loopback to connect from, for instance `127.0.0.2`: limits by address do not count loopback as one. */
  readonly localAddress?: string;
  /** SETTINGS_INITIAL_WINDOW_SIZE that it announces; 0 takes no response at all. */
  readonly windowBytes?: number;
  /** False: it never acknowledges the other side's SETTINGS. */
  readonly acknowledges?: boolean;
  /** False: it answers no PING. */
  readonly answersPings?: boolean;
  /** False: it reads nothing from its socket, so that TCP's windows fill. */
  readonly reads?: boolean;
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The encoded message, which gets its gRPC prefix here. Without one, nothing follows the headers. */
  readonly message?: Uint8Array;
  /** True unless the peer is to leave its side of the stream open. */
  readonly endsStream?: boolean;
}

const emptyPayload = Buffer.alloc(0);
const maxFrameBytes = 16_384;
const continuation = 0x9;
const settingInitialWindowSize = 0x4;

/**
 * An HTTP/2 client on a plain socket that keeps to no rule but those a test chooses: it writes any frame at any time, and counts what comes
 * back. Its HPACK is stateless, and it decodes no headers.
 */
export class HostilePeer {
  readonly socket: Socket;
  /** Bytes of DATA received so far, by stream. */
  readonly dataBytes = new Map<number, number>();
  /** Streams that the other side has ended, with trailers or headers alone. */
  readonly ended = new Set<number>();
  /** Error codes of RST_STREAM, by stream. */
  readonly resets = new Map<number, number>();
  /** Error code of the last GOAWAY. */
  goaway: number | undefined;
  readonly #options: HostilePeerOptions;
  #nextStreamId = 1;
  #unread: Buffer = emptyPayload;

  private constructor(socket: Socket, options: HostilePeerOptions) {
    this.socket = socket;
    this.#options = options;
    socket.on("error", () => undefined);
    if (options.reads !== false) socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Connects and sends the connection preface with its SETTINGS. */
  static async connect(port: number, options: HostilePeerOptions = {}): Promise<HostilePeer> {
    const { localAddress, windowBytes } = options;
    const socket = createConnection({
      port,
      host: "127.0.0.1",
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    const peer = new HostilePeer(socket, options);
    await once(socket, "connect");
    const setting = Buffer.alloc(windowBytes === undefined ? 0 : 6);
    if (windowBytes !== undefined) {
      setting.writeUInt16BE(settingInitialWindowSize, 0);
      setting.writeUInt32BE(windowBytes, 2);
    }
    await peer.send(Buffer.concat([preface, frame(frameType.settings, 0, 0, setting)]));
    return peer;
  }

  /** True once either side has closed the connection. */
  get isClosed(): boolean {
    return this.socket.destroyed || this.socket.readableEnded;
  }

  /** Opens a stream of a gRPC method; returns its id. */
  async request(path: string, options: RequestOptions = {}): Promise<number> {
    const streamId = this.takeStreamId();
    await this.send(requestFrames(streamId, path, options));
    return streamId;
  }

  /** Resets a stream with CANCEL. */
  async reset(streamId: number): Promise<void> {
    const cancel = Buffer.alloc(4);
    cancel.writeUInt32BE(0x8);
    await this.send(frame(frameType.rstStream, 0, streamId, cancel));
  }

  /** The id for the next stream, for frames that a test writes itself. */
  takeStreamId(): number {
    const streamId = this.#nextStreamId;
    this.#nextStreamId += 2;
    return streamId;
  }

  /** Resolves when the bytes have left for the kernel, or cannot: the connection is closed, or the other side does not read for 1 s. */
  async send(bytes: Uint8Array): Promise<void> {
    const { socket } = this;
    if (socket.destroyed || socket.write(bytes)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        socket.off("drain", done).off("close", done);
        resolve();
      };
      const timer = setTimeout(done, 1_000);
      socket.on("drain", done).on("close", done);
    });
  }

  destroy(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    let rest = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    while (rest.length >= frameHeaderBytes) {
      const end = frameHeaderBytes + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      this.#take(rest[3] ?? 0, rest[4] ?? 0, rest.readUInt32BE(5), rest.subarray(frameHeaderBytes, end));
      rest = rest.subarray(end);
    }
    this.#unread = rest;
  }

  #take(type: number, flags: number, streamId: number, payload: Buffer): void {
    const { acknowledges = true, answersPings = true } = this.#options;
    switch (type) {
      case frameType.settings:
        if (acknowledges && (flags & frameFlag.ack) === 0) void this.send(settingsAck);
        return;
      case frameType.ping:
        if (answersPings && (flags & frameFlag.ack) === 0) void this.send(pingAck(payload));
        return;
      case frameType.data:
        this.dataBytes.set(streamId, (this.dataBytes.get(streamId) ?? 0) + payload.length);
        break;
      case frameType.rstStream:
        this.resets.set(streamId, payload.readUInt32BE(0));
        return;
      case frameType.goaway:
        this.goaway = payload.readUInt32BE(4);
        return;
      case frameType.headers:
        break;
      default:
        return;
    }
    if ((flags & frameFlag.endStream) !== 0) this.ended.add(streamId);
  }
}

/** HEADERS (in as many CONTINUATION frames as they need) and the message of one gRPC request. */
export function requestFrames(streamId: number, path: string, options: RequestOptions = {}): Buffer {
  const { headers = {}, message, endsStream = true } = options;
  const fields = Object.entries({ "content-type": "application/grpc", te: "trailers", ...headers });
  const block = Buffer.concat([
    Buffer.of(0x83, 0x86),
    literalHeader(":path", path),
    // Without it nghttp2 resets the stream, and the request never arrives.
    literalHeader(":authority", "proxy"),
    ...fields.map(([name, value]) => literalHeader(name, value)),
  ]);
  const frames = headerFrames(streamId, block, message === undefined && endsStream);
  if (message !== undefined) frames.push(dataFrame(streamId, prefixed(message), endsStream));
  return Buffer.concat(frames);
}

/** The message behind its gRPC prefix. */
export function prefixed(message: Uint8Array, announcedBytes = message.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(announcedBytes, 1);
  return Buffer.concat([prefix, message]);
}

function headerFrames(streamId: number, block: Buffer, endsStream: boolean): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < block.length; at += maxFrameBytes) {
    const isLast = at + maxFrameBytes >= block.length;
    const flags = (isLast ? frameFlag.endHeaders : 0) | (at === 0 && endsStream ? frameFlag.endStream : 0);
    const type = at === 0 ? frameType.headers : continuation;
    frames.push(frame(type, flags, streamId, block.subarray(at, at + maxFrameBytes)));
  }
  return frames;
}

/** A literal header field without indexing, new name, no Huffman code (RFC 7541 6.2.2). */
export function literalHeader(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0x00), literalString(name), literalString(value)]);
}

function literalString(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length < 0x7f) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length: number[] = [0x7f];
  let rest = bytes.length - 0x7f;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from(length), Buffer.of(rest), bytes]);
}
