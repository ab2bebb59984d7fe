import { expect } from "chai";
import {
  answerOf,
  bytesUnary,
  grpcHeaders,
  http2Client,
  listen,
  recordingLogger,
  releaseAfterEach,
} from "@bunting/test/support/grpc-port.js";
import { GrpcServer } from "./grpc-server.js";
import { ReadFairness } from "@bunting/server";

const connections = 20;
const requests = 800;
const perTurn = 300;

describe("requests that are readable at once on many connections", () => {
  releaseAfterEach();

  it("are taken in turns of the event loop, and all are answered", async () => {
    let inTurn = 0;
    let most = 0;
    const count = bytesUnary("/t.T/Count", (request) => {
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
      most = Math.max(most, inTurn);
      return request;
    });
    const grpc = new GrpcServer({ methods: [count], logger: recordingLogger() });
    const listener = await listen({ grpc, turns: new ReadFairness({ perTurn }) });
    const clients = Array.from({ length: connections }, () => http2Client(listener));
    const call = (client: (typeof clients)[number]) => {
      const stream = client.request(grpcHeaders("/t.T/Count"));
      stream.end(Buffer.alloc(5));
      return answerOf(stream);
    };
    await Promise.all(clients.map(call));
    inTurn = most = 0;
    const answers = await Promise.all(
      clients.flatMap((client) => Array.from({ length: requests }, () => call(client))),
    );
    expect(answers.filter(({ trailers }) => trailers["grpc-status"] !== "0")).to.deep.equal([]);
    // A chunk that has been read is handled whole.
    expect(most).to.be.lessThan(perTurn + 2 * requests);
  });
});
