import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { NodeProof } from "./node-proof.fixture.js";
import { rawSocketOf, secureConnection } from "./raw-socket.js";
import { hasStreamHandle, readOn, startReading, stopReading, unsentBytes } from "./socket-handle.js";

/** Parts of node's sockets that the ports need. Each is proved on a loopback connection. */
export const socketParts: readonly NodeProof[] = [
  {
    name: "socket-handle: reading",
    limit: "peers are read beyond their share of the event loop and of memory",
    works: () =>
      onLoopback(async (ours, theirs, server) => {
        let bytes = 0;
        ours.on("data", (chunk) => (bytes += chunk.length));
        for (const goOn of [startReading, readOn]) {
          stopReading(ours);
          const before = bytes;
          theirs.write("a");
          await passRound(server);
          if (bytes !== before) return false;
          goOn(ours);
          await once(ours, "data");
        }
        return bytes === 2;
      }),
  },
  {
    name: "socket-handle: writing",
    limit: "connections whose peer takes nothing are not ended",
    works: () =>
      onLoopback(async (ours, theirs, server) => {
        theirs.pause();
        ours.write(Buffer.alloc(32 * 1024 * 1024));
        await passRound(server);
        return unsentBytes(ours) > 0 && unsentBytes(theirs) === 0;
      }),
  },
  {
    name: "socket-handle: of servers",
    limit: "the check at the start says less than it should",
    works: () => onLoopback((_ours, _theirs, server) => Promise.resolve(hasStreamHandle(server))),
  },
  {
    name: "raw-socket",
    limit: "no connection over TLS is accepted",
    works: async () => {
      const key = Buffer.alloc(32, 1);
      const tls = { ciphers: "PSK", maxVersion: "TLSv1.2" } as const;
      const secure = createTlsServer({ ...tls, pskCallback: () => key });
      return onLoopback(async (ours, theirs) => {
        secureConnection(secure, ours);
        const peer = connectTls({
          ...tls,
          socket: theirs,
          pskCallback: () => ({ psk: key, identity: "a" }),
          checkServerIdentity: () => undefined,
        });
        const [accepted] = (await once(secure, "secureConnection")) as [TLSSocket];
        peer.destroy();
        return rawSocketOf(accepted) === ours;
      });
    },
  },
];

async function onLoopback(
  use: (ours: Socket, theirs: Socket, server: Server) => Promise<boolean>,
): Promise<boolean> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const [ours, theirs] = await connection(server);
  try {
    return await use(ours, theirs, server);
  } finally {
    ours.destroy();
    theirs.destroy();
    server.close();
  }
}

async function connection(server: Server): Promise<readonly [ours: Socket, theirs: Socket]> {
  const theirs = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [ours] = (await once(server, "connection")) as [Socket];
  for (const socket of [ours, theirs]) socket.on("error", () => undefined);
  return [ours, theirs];
}

/** Resolves once bytes have passed on another connection: what was sent before has arrived by then. */
async function passRound(server: Server): Promise<void> {
  const [ours, theirs] = await connection(server);
  theirs.write("a");
  await once(ours, "data");
  ours.write("b");
  await once(theirs, "data");
  ours.destroy();
  theirs.destroy();
}
