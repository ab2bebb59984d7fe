import { Server, ServerCredentials, status, type ServerDuplexStream } from "@grpc/grpc-js";
import { nextTurn, systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { syncPath } from "./bunting-messages.js";
import { callSync } from "./call-sync.js";
import { MessageBuffer } from "./message-buffer.js";
import { SyncChannel } from "./sync-channel.js";

const heartbeat = Buffer.from([0x3a, 0]);

describe("callSync", () => {
  let server: Server;
  let channel: SyncChannel;
  /** What the server does with a stream once it has the first message. */
  let answer: (stream: ServerDuplexStream<Buffer, Buffer>) => void;

  beforeEach(async () => {
    server = new Server();
    const asItIs = (message: Buffer): Buffer => message;
    const method = {
      path: syncPath,
      requestStream: true,
      responseStream: true,
      requestSerialize: asItIs,
      requestDeserialize: asItIs,
      responseSerialize: asItIs,
      responseDeserialize: asItIs,
    };
    const sync = (stream: ServerDuplexStream<Buffer, Buffer>): void => {
      stream.once("data", () => answer(stream));
    };
    server.addService({ sync: method }, { sync });
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    channel = new SyncChannel(`127.0.0.1:${port}`, {});
  });
  afterEach(async () => {
    await channel.close();
    server.forceShutdown();
  });

  it("drops what waits behind a message that takes longer than the stream lasts: the next stream may have said something newer", async () => {
    answer = (stream) => {
      stream.write(heartbeat);
      stream.write(heartbeat);
      stream.emit("error", { code: status.UNAVAILABLE, details: "going away" });
    };
    const numbers: number[] = [];
    let finish: () => void = () => undefined;
    const taking = new Promise<undefined>((resolve) => (finish = () => resolve(undefined)));
    const end = await callSync(
      channel,
      {
        headers: {},
        clock: systemClock,
        connectTimeoutMs: 10_000,
        redact: (text) => text,
        buffer: new MessageBuffer(),
        hello: heartbeat,
        maxMessagesPerSecond: 100,
        opened: () => undefined,
        started: () => undefined,
        received: (_message, number) => {
          numbers.push(number);
          return taking;
        },
      },
      new AbortController().signal,
    );
    expect(end.reason).to.equal("unavailable");
    finish();
    await taking;
    await nextTurn();
    expect(numbers).to.deep.equal([1]);
  });
});
