import { once } from "node:events";
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { buntingSyncV1, reflectionV1, syncV1 } from "@bunting/protocol";
import {
  HostilePeer,
  literalHeader,
  prefixed,
  requestFrames,
  type HostilePeerOptions,
} from "@bunting/test/abuse/support/hostile-peer.js";
import { dataFrame, frame, frameType } from "../load/http2-frames.js";

/** The proxy under attack, and what the attackers know of it. */
export interface AttackTarget {
  readonly port: number;
  readonly managementPort: number;
  /** The FeatureFlag that healthy subscribers follow, and its uid. */
  readonly topic: string;
  readonly uid: string;
  /** A FeatureFlag of 500 KB. */
  readonly largeTopic: string;
}

export interface AttackInput {
  readonly target: AttackTarget;
  /** The address to connect from. */
  readonly localAddress: string;
  /** Reports each socket, whose bytes are counted. */
  readonly onSocket: (socket: Socket) => void;
}

/** One connection's life: it connects, and resolves when the proxy has closed the connection or there is nothing left to do with it. */
export type Attack = (input: AttackInput) => Promise<void>;

const syncFlags = "/flagd.sync.v1.FlagSyncService/SyncFlags";
const fetchAllFlags = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";
const buntingSync = "/bunting.sync.v1.SyncService/Sync";
const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const continuation = 0x9;
/** Between two rounds of one connection. */
const paceMs = 2;

/** Unique in all attackers' processes, so that no guessed name is used twice. */
let guesses = 0;
const guessedTopic = (): string => `bench/guess-${process.pid}-${guesses++}`;

export const attacks = {
  "subscribe and unsubscribe guessed names": async (input) => {
    await withStream(input, buntingSync, async (stream) => {
      await write(stream, request({ $case: "hello", value: { agent: "abuse/1", providerId: "" } }));
      await rounds(stream, async () => {
        const messages = Array.from({ length: 50 }, () => {
          const topic = guessedTopic();
          return [
            request({ $case: "subscribe", value: { topic, held: undefined } }),
            request({ $case: "unsubscribe", value: { topic } }),
          ];
        });
        await write(stream, Buffer.concat(messages.flat()));
      });
    });
  },

  "fetch guessed names with a deadline of 1 ms": async (input) => {
    await withPeer(input, {}, async (peer) => {
      const headers = { "grpc-timeout": "1m" };
      await untilClosed(peer, () =>
        peer.send(
          manyRequests(peer, 20, fetchAllFlags, () => ({ headers, message: selectorOf(guessedTopic()) })),
        ),
      );
    });
  },

  "fetch 500 KB 600 times with a window of 0": async (input) => {
    await withPeer(input, { windowBytes: 0 }, async (peer) => {
      const message = selectorOf(input.target.largeTopic);
      await peer.send(manyRequests(peer, 600, fetchAllFlags, () => ({ message })));
      await untilClosed(peer);
    });
  },

  "subscribe to 500 KB 600 times and read nothing": async (input) => {
    await withPeer(input, { reads: false }, async (peer) => {
      const message = selectorOf(input.target.largeTopic);
      await peer.send(manyRequests(peer, 600, syncFlags, () => ({ message })));
      await untilClosed(peer);
    });
  },

  "send messages of 1 MiB but for their last byte": async (input) => {
    const half = prefixed(Buffer.alloc(1024 * 1024 - 1), 1024 * 1024);
    await withSession(input, async (session) => {
      await rounds(session, async () => {
        const stream = openStream(session, buntingSync);
        await write(stream, half);
      });
    });
  },

  "send headers of 60 KB and acknowledge no SETTINGS": async (input) => {
    await withPeer(input, { acknowledges: false }, async (peer) => {
      const headers = Object.fromEntries(
        Array.from({ length: 8 }, (_, i) => [`x-${i}`, "v".repeat(7_500)] as const),
      );
      for (let round = 0; round < 90; round++) {
        await peer.send(manyRequests(peer, 10, syncFlags, () => ({ headers, endsStream: false })));
        await delay(paceMs);
      }
      await untilClosed(peer);
    });
  },

  "break the protocol and disconnect": async (input) => {
    await withPeer(input, {}, async (peer) => {
      await peer.request(syncFlags, { message: selectorOf(input.target.topic) });
      await peer.send(dataFrame(0, Buffer.alloc(10), false));
      await delay(10);
    });
  },

  "open and reset streams": async (input) => {
    await withPeer(input, {}, async (peer) => {
      await untilClosed(peer, () => {
        const pairs = Array.from({ length: 100 }, () => {
          const id = peer.takeStreamId();
          return [requestFrames(id, syncFlags), frame(frameType.rstStream, 0, id, Buffer.of(0, 0, 0, 8))];
        });
        return peer.send(Buffer.concat(pairs.flat()));
      });
    });
  },

  "claim huge resourceVersions": async (input) => {
    const { topic, uid } = input.target;
    const digest = Buffer.alloc(32);
    await withStream(input, buntingSync, async (stream) => {
      await write(stream, request({ $case: "hello", value: { agent: "abuse/1", providerId: "" } }));
      let version = 9_000_000_000_000_000n;
      await rounds(stream, async () => {
        const resourceVersion = String(version++);
        const held = { uid, generation: "1", resourceVersion, digest };
        await write(
          stream,
          Buffer.concat([
            request({ $case: "subscribe", value: { topic, held } }),
            request({ $case: "unsubscribe", value: { topic } }),
          ]),
        );
      });
    });
  },

  "flood with PING and SETTINGS": async (input) => {
    const ping = frame(frameType.ping, 0, 0, Buffer.alloc(8));
    const settings = frame(frameType.settings, 0, 0, Buffer.of(0, 4, 0, 0, 255, 255));
    const flood = Buffer.concat(Array.from({ length: 250 }, () => [ping, settings]).flat());
    await withPeer(input, {}, (peer) => untilClosed(peer, () => peer.send(flood)));
  },

  "send garbage": async (input) => {
    await withPeer(input, {}, (peer) =>
      untilClosed(peer, () => {
        const payload = Buffer.from(Array.from({ length: 200 }, () => Math.floor(Math.random() * 256)));
        const type = Math.floor(Math.random() * 12);
        return peer.send(
          frame(type, Math.floor(Math.random() * 256), Math.floor(Math.random() * 8), payload),
        );
      }),
    );
  },

  "ask reflection and read nothing": async (input) => {
    const ask = prefixed(
      reflectionV1.ServerReflectionRequest.encode({
        host: "",
        messageRequest: { $case: "fileContainingSymbol", value: "bunting.sync.v1.SyncService" },
      }).finish(),
    );
    const asks = Buffer.concat(Array.from({ length: 250 }, () => ask));
    await withPeer(input, { windowBytes: 0 }, (peer) =>
      untilClosed(peer, () => {
        const id = peer.takeStreamId();
        return peer.send(
          Buffer.concat([
            requestFrames(id, reflection, { endsStream: false }),
            dataFrame(id, asks.subarray(0, 16_000), false),
          ]),
        );
      }),
    );
  },

  "send headers without end": async (input) => {
    const block = Buffer.concat(
      Array.from({ length: 100 }, (_, i) => literalHeader(`x-${i}`, "v".repeat(100))),
    );
    await withPeer(input, {}, async (peer) => {
      await peer.send(frame(frameType.headers, 0, peer.takeStreamId(), Buffer.of(0x83, 0x86)));
      await untilClosed(peer, () => peer.send(frame(continuation, 0, 1, block)));
    });
  },

  "send an HTTP/1.1 request byte by byte": async (input) => {
    const socket = await connectManagement(input);
    const text = `GET /metrics HTTP/1.1\r\nHost: bench\r\n${"x-slow: y\r\n".repeat(1_000)}`;
    for (let at = 0; at < text.length && !socket.destroyed; at++) {
      socket.write(text[at] ?? "");
      await delay(100);
    }
    socket.destroy();
  },

  "fetch /metrics over HTTP/1.1 and read nothing": async (input) => {
    const socket = await connectManagement(input);
    socket.pause();
    socket.write("GET /metrics HTTP/1.1\r\nHost: bench\r\n\r\n".repeat(1_000));
    await until(() => socket.destroyed);
    socket.destroy();
  },
} as const satisfies Record<string, Attack>;

export type AttackName = keyof typeof attacks;
export const attackNames = Object.keys(attacks) as AttackName[];

function selectorOf(selector: string): Uint8Array {
  return syncV1.FetchAllFlagsRequest.encode({ providerId: "", selector }).finish();
}

function request(message: NonNullable<buntingSyncV1.SyncRequest["message"]>): Buffer {
  return prefixed(buntingSyncV1.SyncRequest.encode({ message }).finish());
}

function manyRequests(
  peer: HostilePeer,
  count: number,
  path: string,
  options: () => Parameters<typeof requestFrames>[2],
): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, () => requestFrames(peer.takeStreamId(), path, options())),
  );
}

async function withPeer(
  { target, localAddress, onSocket }: AttackInput,
  options: HostilePeerOptions,
  use: (peer: HostilePeer) => Promise<void>,
): Promise<void> {
  const peer = await HostilePeer.connect(target.port, { localAddress, ...options });
  onSocket(peer.socket);
  try {
    await use(peer);
  } finally {
    peer.destroy();
  }
}

/** Repeats the round, or waits, until the proxy closes the connection. */
async function untilClosed(peer: HostilePeer, round?: () => Promise<void>): Promise<void> {
  while (!peer.isClosed) {
    if (round !== undefined) await round();
    await delay(round === undefined ? 50 : paceMs);
  }
}

/** A well-behaved HTTP/2 connection, for attacks that keep to flow control. */
async function withSession(
  { target, localAddress, onSocket }: AttackInput,
  use: (session: ClientHttp2Session) => Promise<void>,
): Promise<void> {
  const socket = connectTcp({ port: target.port, host: "127.0.0.1", localAddress });
  onSocket(socket);
  const session = connectHttp2(`http://127.0.0.1:${target.port}`, { createConnection: () => socket });
  session.on("error", () => undefined);
  try {
    await use(session);
  } finally {
    session.destroy();
  }
}

async function withStream(
  input: AttackInput,
  path: string,
  use: (stream: ClientHttp2Stream) => Promise<void>,
): Promise<void> {
  await withSession(input, (session) => use(openStream(session, path)));
}

function openStream(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  stream.resume();
  return stream;
}

async function rounds(
  connection: { readonly destroyed: boolean },
  round: () => Promise<void>,
): Promise<void> {
  while (!connection.destroyed) {
    await round();
    await delay(paceMs);
  }
}

/** Resolves when flow control has let the bytes pass, the stream is gone, or a second has passed. */
function write(stream: ClientHttp2Stream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 1_000);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (stream.destroyed) done();
    else stream.write(bytes, done);
    stream.once("close", done);
  });
}

async function connectManagement({ target, localAddress, onSocket }: AttackInput): Promise<Socket> {
  const socket = connectTcp({ port: target.managementPort, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined);
  onSocket(socket);
  await once(socket, "connect");
  socket.resume();
  return socket;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(50);
}
