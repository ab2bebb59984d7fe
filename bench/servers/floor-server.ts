import { createServer, type AddressInfo } from "node:net";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";
import { serveCalls } from "../support/child-protocol.js";
import { monotonicMs } from "../support/monotonic.js";
import { FloorConnection } from "./floor-connection.js";
import { FramedVersion } from "./framed-version.js";
import type { PublishInput, Published, ServerHandlers } from "./server-handlers.js";
import { syncFrame } from "./sync-frame.js";

/** The floor: what it costs node to hand one shared buffer to N sockets, with just enough HTTP/2 around it for the load client. */

const connections = new Set<FloorConnection>();
let newest = new FramedVersion(syncFrame(sequencedDocument({ sequence: firstSequence, bytes: 1024 })));

// With a high-water mark of one byte, a socket that could not write everything at once always emits 'drain'.
const server = createServer({ noDelay: true, highWaterMark: 1 }, (socket) => {
  const connection = new FloorConnection(socket, () => newest);
  connections.add(connection);
  socket.on("error", () => undefined);
  socket.on("close", () => connections.delete(connection));
});

const handlers: ServerHandlers = {
  listen: (): Promise<{ port: number }> =>
    new Promise((resolve) =>
      server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () =>
        resolve({ port: (server.address() as AddressInfo).port }),
      ),
    ),
  publish: (input: PublishInput): Published => {
    const document = sequencedDocument(input);
    const publishedMs = monotonicMs();
    newest = new FramedVersion(syncFrame(document));
    for (const connection of connections) connection.sendNewest();
    return { publishedMs };
  },
};

serveCalls(handlers);
