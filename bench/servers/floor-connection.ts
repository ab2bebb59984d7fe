import type { Socket } from "node:net";
import {
  defaultWindowBytes,
  frame,
  frameFlag,
  frameHeaderBytes,
  frameType,
  pingAck,
  preface,
  settingsAck,
} from "../load/http2-frames.js";
import type { FramedVersion } from "./framed-version.js";

/** HEADERS of the response: `:status: 200` from the static table, and a literal `content-type: application/grpc`. */
const responseBlock = Buffer.concat([
  Buffer.of(0x88, 0x5f, "application/grpc".length),
  Buffer.from("application/grpc"),
]);
const settingInitialWindowSize = 0x4;

interface FloorStream {
  readonly id: number;
  windowBytes: number;
  /** What is being sent or was sent last. */
  version: FramedVersion | undefined;
  /** How many of its DATA frames were sent. */
  sentFrames: number;
}

/**
 * One connection to the floor: every frame is laid out in advance, windows and the socket's backpressure are respected, and a stream that
 * has sent a version continues with the newest. Nothing else of HTTP/2 or gRPC is implemented: no headers are read, no limits are
 * enforced, no stream is ended.
 */
export class FloorConnection {
  readonly #socket: Socket;
  readonly #newest: () => FramedVersion;
  readonly #streams = new Map<number, FloorStream>();
  #windowBytes = defaultWindowBytes;
  #initialWindowBytes = defaultWindowBytes;
  /** Received bytes that are not a whole frame yet. */
  #pending: Buffer = Buffer.alloc(0);
  #hasPreface = false;
  /** Whether the socket's buffer is full, until 'drain'. */
  #isFull = false;

  constructor(socket: Socket, newest: () => FramedVersion) {
    this.#socket = socket;
    this.#newest = newest;
    socket.on("data", (bytes) => this.#read(bytes));
    socket.on("drain", () => {
      this.#isFull = false;
      this.sendNewest();
    });
    socket.write(frame(frameType.settings, 0, 0, Buffer.alloc(0)));
  }

  sendNewest(): void {
    for (const stream of this.#streams.values()) this.#send(stream);
  }

  #send(stream: FloorStream): void {
    while (!this.#isFull) {
      const newest = this.#newest();
      if (stream.version === undefined || stream.sentFrames === stream.version.frames) {
        if (stream.version === newest) return;
        stream.version = newest;
        stream.sentFrames = 0;
      }
      const from = stream.sentFrames;
      const until = stream.version.lastFrameWithin(from, Math.min(stream.windowBytes, this.#windowBytes));
      if (until === from) return;
      const bytes = stream.version.dataBytes(from, until);
      stream.sentFrames = until;
      stream.windowBytes -= bytes;
      this.#windowBytes -= bytes;
      this.#socket.write(stream.version.bytesOf(stream.id, from, until));
      this.#isFull = this.#socket.writableLength > 0;
    }
  }

  #read(bytes: Buffer): void {
    let input = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    if (!this.#hasPreface && input.length >= preface.length) {
      this.#hasPreface = true;
      input = input.subarray(preface.length);
    }
    while (this.#hasPreface && input.length >= frameHeaderBytes) {
      const end = frameHeaderBytes + input.readUIntBE(0, 3);
      if (input.length < end) break;
      this.#take(
        input.readUInt8(3),
        input.readUInt8(4),
        input.readUInt32BE(5),
        input.subarray(frameHeaderBytes, end),
      );
      input = input.subarray(end);
    }
    this.#pending = input;
    this.sendNewest();
  }

  #take(type: number, flags: number, streamId: number, payload: Buffer): void {
    const isAck = (flags & frameFlag.ack) !== 0;
    if (type === frameType.windowUpdate) this.#widen(streamId, payload.readUInt32BE(0));
    else if (type === frameType.headers) this.#open(streamId);
    else if (type === frameType.settings && !isAck) this.#settle(payload);
    else if (type === frameType.ping && !isAck) this.#socket.write(pingAck(payload));
  }

  #widen(streamId: number, bytes: number): void {
    const stream = this.#streams.get(streamId);
    if (streamId === 0) this.#windowBytes += bytes;
    else if (stream !== undefined) stream.windowBytes += bytes;
  }

  #open(id: number): void {
    this.#socket.write(frame(frameType.headers, frameFlag.endHeaders, id, responseBlock));
    this.#streams.set(id, {
      id,
      windowBytes: this.#initialWindowBytes,
      version: undefined,
      sentFrames: 0,
    });
  }

  #settle(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) === settingInitialWindowSize)
        this.#initialWindowBytes = payload.readUInt32BE(at + 2);
    }
    this.#socket.write(settingsAck);
  }
}
