import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";
import { serveCalls } from "../support/child-protocol.js";
import { monotonicMs } from "../support/monotonic.js";
import type { PublishInput, Published, ServerHandlers } from "./server-handlers.js";
import { syncFrame } from "./sync-frame.js";

/**
 * The proxy is compared with this: the least code on node:http2 that fans one shared buffer out and still leaves every subscriber with the
 * newest version. No topics, no selectors, no limits, no metrics. `--yield=N` lets the event loop turn every N streams.
 */

interface Subscriber {
  readonly stream: ServerHttp2Stream;
  sent: Buffer | undefined;
  isWriting: boolean;
}

const yieldEvery = Number(
  process.argv.find((arg) => arg.startsWith("--yield="))?.slice("--yield=".length) ?? Infinity,
);
const subscribers = new Set<Subscriber>();
let newest = syncFrame(sequencedDocument({ sequence: firstSequence, bytes: 1024 }));

const server = createServer();
server.on("stream", (stream) => {
  const subscriber: Subscriber = { stream, sent: undefined, isWriting: false };
  subscribers.add(subscriber);
  stream.on("error", () => undefined);
  stream.on("close", () => subscribers.delete(subscriber));
  stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
  send(subscriber);
});

function send(subscriber: Subscriber): void {
  if (subscriber.isWriting || subscriber.sent === newest) return;
  subscriber.isWriting = true;
  subscriber.sent = newest;
  subscriber.stream.write(newest, () => {
    subscriber.isWriting = false;
    send(subscriber);
  });
}

async function broadcast(): Promise<void> {
  let sinceYield = 0;
  for (const subscriber of subscribers) {
    send(subscriber);
    if (++sinceYield % yieldEvery === 0) await new Promise(setImmediate);
  }
}

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
    newest = syncFrame(document);
    void broadcast();
    return { publishedMs };
  },
};

serveCalls(handlers);
