import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import {
  frame,
  frameFlag,
  frameHeaderBytes,
  frameType,
  pingAck,
  preface,
  settingsAck,
} from "../../../bench/load/http2-frames.js";
import { literalHeader } from "./hostile-peer.js";

const statusOk = 0x88;

/** A server of HTTP/2 on plain sockets that writes any frame at any time: it acknowledges SETTINGS, answers PINGs, and leaves the rest to the test. */
export class RawHttp2Server {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections so far. */
  accepted = 0;

  /** @param onStream called with each request */
  constructor(onStream: (socket: Socket, streamId: number) => void) {
    this.#server = createServer((socket) => {
      this.accepted++;
      this.#sockets.add(socket);
      socket.on("error", () => undefined).once("close", () => this.#sockets.delete(socket));
      socket.write(frame(frameType.settings, 0, 0, Buffer.alloc(0)));
      readFrames(socket, (type, flags, streamId, payload) => {
        const isAck = (flags & frameFlag.ack) !== 0;
        if (type === frameType.settings && !isAck) socket.write(settingsAck);
        else if (type === frameType.ping && !isAck) socket.write(pingAck(payload));
        else if (type === frameType.headers) onStream(socket, streamId);
      });
    });
  }

  /** Returns its address. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** HEADERS that accept a call of gRPC. */
export function acceptance(streamId: number): Buffer {
  const block = Buffer.concat([Buffer.of(statusOk), literalHeader("content-type", "application/grpc")]);
  return frame(frameType.headers, frameFlag.endHeaders, streamId, block);
}

/** Writes as fast as the other side reads, until the connection ends. */
export async function floodSocket(socket: Socket, next: () => Buffer): Promise<void> {
  while (!socket.destroyed) {
    if (socket.write(next())) continue;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        socket.off("drain", go).off("close", go);
        resolve();
      };
      socket.once("drain", go).once("close", go);
    });
  }
}

function readFrames(
  socket: Socket,
  take: (type: number, flags: number, streamId: number, payload: Buffer) => void,
): void {
  let unread: Buffer = Buffer.alloc(0);
  let isPrefaceRead = false;
  socket.on("data", (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    if (!isPrefaceRead) {
      if (unread.length < preface.length) return;
      unread = unread.subarray(preface.length);
      isPrefaceRead = true;
    }
    while (unread.length >= frameHeaderBytes) {
      const end = frameHeaderBytes + unread.readUIntBE(0, 3);
      if (unread.length < end) return;
      const [type = 0, flags = 0] = [unread[3], unread[4]];
      take(type, flags, unread.readUInt32BE(5), unread.subarray(frameHeaderBytes, end));
      unread = unread.subarray(end);
    }
  });
}
