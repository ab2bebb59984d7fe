import { once } from "node:events";
import { request } from "node:http";
import { createConnection, type Socket } from "node:net";
import { frame, frameFlag, frameType } from "../../../bench/load/http2-frames.js";
import { HostilePeer, literalHeader } from "./hostile-peer.js";

export interface ManagementAttack {
  /** Default: a thousand. */
  readonly attackers?: number;
  /** How many answers with metrics the service would hold of each. What others leave unread, the kernel has room for: there, connections are counted. */
  readonly answersEach?: number;
  readonly connect: (port: number) => Promise<Socket>;
}

/** What peers do to a port of probes and metrics, as the end of a sentence about them. */
export const managementAttacks: Readonly<Record<string, ManagementAttack>> = {
  "hold idle HTTP/2 connections": { connect: async (port) => (await HostilePeer.connect(port)).socket },
  "watch the health over HTTP/2": {
    connect: async (port) => {
      const peer = await HostilePeer.connect(port);
      await peer.request("/grpc.health.v1.Health/Watch", { message: Buffer.alloc(0) });
      return peer.socket;
    },
  },
  "hold idle HTTP/1.1 connections": {
    connect: async (port) => {
      const socket = await connect(port);
      socket.write("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
      await once(socket.resume(), "data");
      return socket;
    },
  },
  "begin requests that do not end": {
    connect: async (port) => {
      const socket = await connect(port);
      socket.write("GET /healthz HTTP/1.1\r\nhost: ");
      return socket;
    },
  },
  // To make metrics takes time, to the service and so to the test.
  "read no metrics over HTTP/1.1": {
    attackers: 400,
    connect: async (port) => {
      const socket = await connect(port);
      socket.write("GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n".repeat(10));
      return socket;
    },
  },
  "read no metrics over HTTP/2": {
    attackers: 600,
    answersEach: 16,
    connect: async (port) => {
      const peer = await HostilePeer.connect(port, { windowBytes: 0 });
      for (let index = 0; index < 16; index++) await peer.send(metricsRequest(peer.takeStreamId()));
      return peer.socket;
    },
  },
};

/** The status of one request on a connection of its own, as kubelet and Prometheus send it; 0 if there is no answer. */
export function probe(url: string): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(url, { agent: false }, (response) => {
      response.resume().once("close", () => resolve(response.complete ? (response.statusCode ?? 0) : 0));
    });
    sent.on("error", () => resolve(0)).end();
  });
}

export function metricsRequest(streamId: number, encoding = "identity"): Buffer {
  const get = Buffer.of(0x82, 0x86);
  const block = Buffer.concat([
    get,
    literalHeader(":path", "/metrics"),
    literalHeader(":authority", "a"),
    literalHeader("accept-encoding", encoding),
  ]);
  return frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, streamId, block);
}

async function connect(port: number): Promise<Socket> {
  const socket = createConnection(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}
