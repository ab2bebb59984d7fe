import { request as httpRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { once } from "node:events";
import { systemClock } from "@bunting/runtime";
import { GrpcServer } from "@bunting/rpc";
import {
  afterwards,
  BytesClient,
  bytesUnary,
  listen,
  recordingLogger,
  releaseAfterEach,
} from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import { ReadFairness } from "../limits/read-fairness.js";
import type { PortListener } from "../port/port-listener.js";
import { HttpExchange } from "./http-exchange.js";

const path = "/t.T/Large";
const smallBytes = 1_000;
/** More than a turn of the port below. */
const largeBytes = 1_000_000;

/** Asks for an answer of so many bytes, and returns those that came. */
type Ask = (port: PortListener, bytes: number) => Promise<number>;

const overHttp1 =
  (method: string): Ask =>
  async ({ port }, bytes) => {
    const headers = { connection: "keep-alive", "content-length": 0 };
    const asking = httpRequest({ port, host: "127.0.0.1", method, path: `/${bytes}`, headers, agent: false });
    afterwards(() => asking.destroy());
    asking.end();
    const [answer] = (await once(asking, "response")) as [AsyncIterable<Buffer>];
    return sizeOf(answer);
  };

const overHttp2: Ask = ({ port }, bytes) => {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  afterwards(() => session.destroy());
  return sizeOf(session.request({ ":path": `/${bytes}` }));
};

const overGrpc: Ask = async (port, bytes) => {
  const client = new BytesClient(port, { "grpc.max_receive_message_length": -1 });
  return (await client.unary(path, Buffer.from(String(bytes)))).length;
};

async function sizeOf(answer: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0;
  for await (const chunk of answer) bytes += chunk.length;
  return bytes;
}

describe("large answers", () => {
  releaseAfterEach();

  for (const [road, ask] of Object.entries({
    "HTTP/1.1, whole": overHttp1("POST"),
    "HTTP/1.1 by node's server": overHttp1("GET"),
    "HTTP/2": overHttp2,
    gRPC: overGrpc,
  }))
    it(`are the last work of their turn, so that nothing else waits for several of them: ${road}`, async () => {
      const turns = new ReadFairness({ perTurn: 100 });
      let pauses = 0;
      turns.enter({ pauseForTurn: () => pauses++, resumeAfterTurn: () => undefined }, "10.0.0.2");
      const text = (bytes: number | string): string => "x".repeat(Number(bytes));
      const port = await listen({
        turns,
        http: (request, response) => {
          const metrics = {
            httpRequest: () => undefined,
            httpActiveRequests: () => undefined,
            requestRefused: () => undefined,
          };
          const exchange = new HttpExchange(request, response, {
            service: "test",
            metrics,
            clock: systemClock,
          });
          exchange.reply(200, {}, text(exchange.path.slice(1)));
        },
        wholeRequests: {
          headerNames: [],
          maxBodyBytes: 100,
          answer: ({ target }) => ({ status: 200, headers: "", body: text(target.slice(1)) }),
        },
        grpc: new GrpcServer({
          methods: [bytesUnary(path, (asked) => Buffer.from(text(asked.toString())))],
          logger: recordingLogger(),
        }),
      });
      expect(await ask(port, smallBytes)).to.equal(smallBytes);
      expect(pauses, "after a small answer").to.equal(0);
      expect(await ask(port, largeBytes)).to.equal(largeBytes);
      expect(pauses, "after a large answer").to.equal(1);
    });
});
