import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { compressionAlgorithms, Metadata, status } from "@grpc/grpc-js";
import { frameMessage } from "./framing.js";
import { GrpcServer } from "./grpc-server.js";
import { bidiStreaming, unary, type Call, type ResponseStream } from "./method.js";
import { connectionBytes } from "@bunting/server/internal/limits/peer-account.js";
import type { TransportSession } from "@bunting/http2";
import { RpcError } from "@bunting/http2/status";
import {
  answerOf,
  bytesStreaming,
  bytesUnary,
  BytesClient,
  deferred,
  eventually,
  failure,
  grpcHeaders,
  http2Client,
  ManualClock,
  rawClient,
  recordingLogger,
  releaseAfterEach,
  serve,
  wire,
} from "@bunting/test/support/grpc-port.js";

const echo = bytesUnary("/t.T/Echo", (request) => request);
const hold = bytesStreaming("/t.T/Hold", (_request, out) => out.sendHeaders());
const bidiEcho = bidiStreaming({
  path: "/t.T/Bidi",
  decode: (bytes) => bytes,
  handle: (out) => ({
    onMessage: (message) => out.write(frameMessage(message)),
    onEnd: () => out.end({ code: "OK", message: "" }),
  }),
});

describe("GrpcServer", () => {
  releaseAfterEach();

  describe("unary calls", () => {
    it("takes the first of a header that is repeated", async () => {
      const seen = deferred<string | undefined>();
      const method = unary({
        path: "/t.T/Header",
        decode: (bytes) => bytes,
        encode: (bytes: Uint8Array) => bytes,
        handle: (request, call: Call) => {
          seen.resolve(call.header("x-repeated"));
          return request;
        },
      });
      const session = http2Client(await serve([method]));
      const request = session.request({ ...grpcHeaders("/t.T/Header"), "x-repeated": ["a, b", "c"] });
      request.end(Buffer.alloc(5));
      expect(await seen.promise).to.equal("a, b");
      await answerOf(request);
    });

    it("answers with what the handler returns, directly or by a promise", async () => {
      const listener = await serve([
        bytesUnary("/t.T/Sync", (request) => Buffer.concat([request, request])),
        bytesUnary("/t.T/Async", (request) => Promise.resolve(request)),
      ]);
      const client = new BytesClient(listener);
      expect(String(await client.unary("/t.T/Sync", Buffer.from("ab")))).to.equal("abab");
      expect(String(await client.unary("/t.T/Async", Buffer.from("ab")))).to.equal("ab");
      expect(await client.unary("/t.T/Sync", Buffer.alloc(0))).to.have.length(0);
    });

    it("answers a thousand concurrent calls on one connection, each with its own response", async () => {
      const client = new BytesClient(await serve([echo]));
      const answers = await Promise.all(
        Array.from({ length: 1_000 }, (_, call) => client.unary("/t.T/Echo", Buffer.from(String(call)))),
      );
      expect(answers.map(String)).to.deep.equal(Array.from({ length: 1_000 }, (_, call) => String(call)));
    });

    it("accepts and sends a message larger than any window", async () => {
      const client = new BytesClient(await serve([echo]));
      const message = Buffer.alloc(3_000_000, "x");
      expect((await client.unary("/t.T/Echo", message)).equals(message)).to.equal(true);
    });

    it("ends with the status, message and trailers of an RpcError, thrown or rejected", async () => {
      const refusal = new RpcError("NOT_FOUND", "no flag »ü« at 100 %", {
        trailers: { "x-hint": "try another" },
      });
      const listener = await serve([
        bytesUnary("/t.T/Throws", () => {
          throw refusal;
        }),
        bytesUnary("/t.T/Rejects", () => Promise.reject(refusal)),
      ]);
      const client = new BytesClient(listener);
      for (const path of ["/t.T/Throws", "/t.T/Rejects"]) {
        const error = await failure(client.unary(path, Buffer.from("x")));
        expect(error.code).to.equal(status.NOT_FOUND);
        expect(error.details).to.equal("no flag »ü« at 100 %");
        expect(error.metadata.get("x-hint")).to.deep.equal(["try another"]);
      }
    });

    it("sends headers before an error, so that clients do not retry it, but not before UNAVAILABLE", async () => {
      for (const [code, isFirst] of [
        ["NOT_FOUND", false],
        ["UNAVAILABLE", true],
      ] as const) {
        const failing = bytesUnary("/t.T/Fail", () => {
          throw new RpcError(code, "no");
        });
        const request = http2Client(await serve([failing])).request(grpcHeaders("/t.T/Fail"));
        request.end(Buffer.alloc(5));
        const [head] = (await once(request, "response")) as [Record<string, unknown>];
        expect("grpc-status" in head, code).to.equal(isFirst);
        request.close();
      }
    });

    it("ends with a message that begins and ends with a blank", async () => {
      const fails = bytesUnary("/t.T/Fails", () => {
        throw new RpcError("ABORTED", " why: ");
      });
      const client = new BytesClient(await serve([fails]));
      expect(await failure(client.unary("/t.T/Fails", Buffer.alloc(0)))).to.include({ details: " why: " });
    });

    it("hides other errors from the client, and logs them", async () => {
      const logger = recordingLogger();
      const secret = new Error("the password is 1234");
      const listener = await serve(
        [
          bytesUnary("/t.T/Bug", () => {
            throw secret;
          }),
        ],
        { server: { logger } },
      );
      const error = await failure(new BytesClient(listener).unary("/t.T/Bug", Buffer.from("x")));
      expect(error.code).to.equal(status.UNKNOWN);
      expect(error.details).not.to.contain("1234");
      expect(logger.lines).to.deep.equal([
        { level: "error", message: "a gRPC handler failed", fields: { error: secret, path: "/t.T/Bug" } },
      ]);
    });

    it("refuses bytes that are not a message of the method, and logs nothing", async () => {
      const logger = recordingLogger();
      const method = unary({
        path: "/t.T/Decode",
        decode: (): string => {
          throw new Error("invalid wire type");
        },
        encode: () => Buffer.alloc(0),
        handle: () => "never",
      });
      const listener = await serve([method], { server: { logger } });
      const error = await failure(new BytesClient(listener).unary("/t.T/Decode", Buffer.from("x")));
      expect(error.code).to.equal(status.INTERNAL);
      expect(logger.lines).to.deep.equal([]);
    });

    it("refuses an unknown method by its name", async () => {
      const error = await failure(
        new BytesClient(await serve([echo])).unary("/t.T/Nothing", Buffer.from("x")),
      );
      expect(error.code).to.equal(status.UNIMPLEMENTED);
      expect(error.details).to.contain("/t.T/Nothing");
    });

    it("demands exactly one message", async () => {
      const session = http2Client(await serve([echo]));
      const none = session.request(grpcHeaders("/t.T/Echo"));
      none.end();
      const { headers } = await answerOf(none);
      expect(headers["grpc-status"]).to.equal(String(status.UNIMPLEMENTED));
      const half = session.request(grpcHeaders("/t.T/Echo"));
      half.end(frameMessage(Buffer.from("abc")).subarray(0, 6));
      expect((await answerOf(half)).headers["grpc-status"]).to.equal(String(status.INTERNAL));
    });

    it("answers a client that never half-closes, and frees the stream", async () => {
      const listener = await serve([echo]);
      const request = http2Client(listener).request(grpcHeaders("/t.T/Echo"));
      request.write(frameMessage(Buffer.from("abc")));
      const { body, trailers, rstCode } = await answerOf(request);
      expect(String(body.subarray(5))).to.equal("abc");
      expect(trailers["grpc-status"]).to.equal("0");
      expect(rstCode).to.equal(0);
      const [session] = listener.sessions;
      await eventually(() => session?.streams.length === 0, "the stream to be gone");
    });
  });

  describe("limits of a message", () => {
    it("refuses a message above the limit and accepts one at the limit", async () => {
      const client = new BytesClient(
        await serve([echo], { server: { messages: { maxMessageBytes: 1_000 } } }),
      );
      expect(await client.unary("/t.T/Echo", Buffer.alloc(1_000))).to.have.length(1_000);
      const error = await failure(client.unary("/t.T/Echo", Buffer.alloc(1_001)));
      expect(error.code).to.equal(status.RESOURCE_EXHAUSTED);
      expect(error.details).to.contain("1001").and.to.contain("1000");
    });

    it("applies the method's own limit if it has one, smaller or larger than the server's", async () => {
      const small = { ...bytesUnary("/t.T/Small", (request) => request), maxMessageBytes: 10 };
      const large = { ...bytesUnary("/t.T/Large", (request) => request), maxMessageBytes: 5_000 };
      const client = new BytesClient(
        await serve([small, large, echo], { server: { messages: { maxMessageBytes: 1_000 } } }),
      );
      const refused = await failure(client.unary("/t.T/Small", Buffer.alloc(11)));
      expect(refused.code).to.equal(status.RESOURCE_EXHAUSTED);
      expect(await client.unary("/t.T/Small", Buffer.alloc(10))).to.have.length(10);
      expect(await client.unary("/t.T/Large", Buffer.alloc(5_000))).to.have.length(5_000);
      expect((await failure(client.unary("/t.T/Echo", Buffer.alloc(1_001)))).code).to.equal(refused.code);
    });

    it("stops a client that continues to upload after it was refused", async () => {
      const listener = await serve([echo], { server: { messages: { maxMessageBytes: 1_000 } } });
      const request = http2Client(listener).request(grpcHeaders("/t.T/Echo"));
      request.write(frameMessage(Buffer.alloc(10_000_000)));
      const { headers, rstCode } = await answerOf(request);
      expect(headers["grpc-status"]).to.equal(String(status.RESOURCE_EXHAUSTED));
      expect(rstCode).to.equal(0);
    });

    it("decompresses gzip, up to the limit", async () => {
      const session = http2Client(await serve([echo], { server: { messages: { maxMessageBytes: 1_000 } } }));
      const send = async (message: Buffer, encoding: string): ReturnType<typeof answerOf> => {
        const request = session.request({ ...grpcHeaders("/t.T/Echo"), "grpc-encoding": encoding });
        request.end(frameMessage(message, true));
        return answerOf(request);
      };
      const fits = Buffer.alloc(1_000, "y");
      expect((await send(gzipSync(fits), "gzip")).body.subarray(5).equals(fits)).to.equal(true);
      const bomb = gzipSync(Buffer.alloc(600_000));
      expect(bomb.length).to.be.below(1_000);
      expect((await send(bomb, "gzip")).headers["grpc-status"]).to.equal(String(status.RESOURCE_EXHAUSTED));
      expect((await send(Buffer.from("no gzip"), "gzip")).headers["grpc-status"]).to.equal(
        String(status.INTERNAL),
      );
      expect((await send(gzipSync(fits), "identity")).headers["grpc-status"]).to.equal(
        String(status.INTERNAL),
      );
    });

    it("decompresses gzip without a limit of messages too, to some times of what was sent", async () => {
      const session = http2Client(
        await serve([echo], { server: { messages: { maxMessageBytes: Infinity } } }),
      );
      const send = async (message: Buffer): ReturnType<typeof answerOf> => {
        const request = session.request({ ...grpcHeaders("/t.T/Echo"), "grpc-encoding": "gzip" });
        request.end(frameMessage(gzipSync(message), true));
        return answerOf(request);
      };
      expect((await send(Buffer.alloc(60_000, "y"))).body).to.have.length(60_005);
      const { headers } = await send(Buffer.alloc(20_000_000));
      expect(headers["grpc-status"]).to.equal(String(status.RESOURCE_EXHAUSTED));
    });

    it("lists the accepted encodings to a client that uses another", async () => {
      const request = http2Client(await serve([echo])).request({
        ...grpcHeaders("/t.T/Echo"),
        "grpc-encoding": "snappy",
      });
      request.end(frameMessage(Buffer.from("x"), true));
      const { headers } = await answerOf(request);
      expect(headers["grpc-status"]).to.equal(String(status.UNIMPLEMENTED));
      expect(headers["grpc-accept-encoding"]).to.equal("identity,gzip");
    });

    it("accepts gzip from grpc-js", async () => {
      const client = new BytesClient(await serve([echo]), {
        "grpc.default_compression_algorithm": compressionAlgorithms.gzip,
      });
      const message = Buffer.alloc(100_000, "z");
      expect((await client.unary("/t.T/Echo", message)).equals(message)).to.equal(true);
    });
  });

  describe("what is not gRPC", () => {
    it("is refused with a status that says why", async () => {
      const session = http2Client(await serve([echo]));
      const json = session.request({ ...grpcHeaders("/t.T/Echo"), "content-type": "application/json" });
      json.end("{}");
      const refused = (await answerOf(json)).headers;
      expect(refused).to.include({ ":status": 415, "content-type": "application/grpc", "grpc-status": "3" });
      const get = session.request({
        ":method": "GET",
        ":path": "/t.T/Echo",
        "content-type": "application/grpc",
      });
      get.end();
      const { headers } = await answerOf(get);
      expect(headers).to.include({ ":status": 405, "grpc-status": "13" });
    });

    it("answers with the content type of the request", async () => {
      const session = http2Client(await serve([echo]));
      // As in grpc-go, a codec that it does not know counts as protobuf.
      for (const contentType of ["application/grpc", "application/grpc+proto", "application/grpc+json"]) {
        const request = session.request({ ...grpcHeaders("/t.T/Echo"), "content-type": contentType });
        request.end(frameMessage(Buffer.from("x")));
        expect((await answerOf(request)).headers["content-type"]).to.equal(contentType);
      }
    });
  });

  describe("a message that does not arrive", () => {
    const messageTimeoutMs = 50;

    for (const [what, sent] of [
      ["nothing at all", Buffer.alloc(0)],
      ["a part of a prefix", Buffer.alloc(3)],
      ["half a message", frameMessage(Buffer.from("half")).subarray(0, 7)],
    ] as const) {
      it(`ends a call that has sent ${what}, and takes its bytes off the account`, async () => {
        const listener = await serve([echo, hold], { server: { messages: { messageTimeoutMs } } });
        const session = http2Client(listener);
        for (const path of ["/t.T/Echo", "/t.T/Hold"]) {
          const request = session.request(grpcHeaders(path));
          if (sent.length > 0) request.write(sent);
          const { headers } = await answerOf(request);
          expect(headers["grpc-status"]).to.equal(String(status.UNAVAILABLE));
          expect(headers["grpc-message"]).to.equal("no whole request message arrived for at least 50 ms");
        }
        const [{ account } = expect.fail("the connection has closed")] = [...listener.sessions];
        await eventually(() => account.bytes === connectionBytes, "only the connection to be charged");
      });
    }

    it("ends no call that waits for its answer, nor one between two messages", async () => {
      const listener = await serve([hold, bidiEcho], { server: { messages: { messageTimeoutMs } } });
      const session = http2Client(listener);
      const held = session.request(grpcHeaders("/t.T/Hold"));
      held.write(frameMessage(Buffer.from("x")));
      const talking = session.request(grpcHeaders("/t.T/Bidi"));
      talking.write(frameMessage(Buffer.from("first")));
      // It is overdue after the others' timeout has passed twice.
      const late = session.request(grpcHeaders("/t.T/Hold"));
      expect((await answerOf(late)).headers["grpc-status"]).to.equal(String(status.UNAVAILABLE));
      expect(held.closed || talking.closed).to.equal(false);
      talking.end(frameMessage(Buffer.from("second")));
      expect((await answerOf(talking)).trailers["grpc-status"]).to.equal("0");
    });

    it("is charged while it is gathered; beyond 4 MiB on a connection further ones are refused", async () => {
      const listener = await serve([hold]);
      const session = http2Client(listener, { maxSessionMemory: 100 });
      const half = frameMessage(Buffer.alloc(1024 * 1024)).subarray(0, 1024 * 1024);
      const requests = Array.from({ length: 5 }, () => session.request(grpcHeaders("/t.T/Hold")));
      for (const request of requests) request.write(half);
      const { headers } = await Promise.any(requests.map((request) => answerOf(request)));
      expect(headers["grpc-status"]).to.equal(String(status.UNAVAILABLE));
      expect(headers["grpc-retry-pushback-ms"]).to.equal("1000");
      const [{ account } = expect.fail("the connection has closed")] = [...listener.sessions];
      expect(account.bytes).to.be.within(3 * 1024 * 1024, connectionBytes + 4 * 1024 * 1024);
      // Node 20's client may never end if it is destroyed while it sends.
      await eventually(() => requests.every(({ closed, writableLength }) => closed || writableLength === 0));
      session.destroy();
      await eventually(() => account.bytes === connectionBytes, "everything to be taken off the account");
    });
  });

  describe("deadlines", () => {
    /** Timers of a server with open connections: the sweep for messages that do not arrive. */
    const sweeps = 1;

    it("end a unary call whose handler is late, and abort its signal", async () => {
      const clock = new ManualClock();
      const started = deferred<Call>();
      const listener = await serve(
        [
          bytesUnary("/t.T/Slow", (_request, call) => {
            started.resolve(call);
            return new Promise(() => undefined);
          }),
        ],
        { server: { clock } },
      );
      const answer = failure(
        new BytesClient(listener).unary("/t.T/Slow", Buffer.from("x"), new Metadata(), {
          deadline: Date.now() + 600_000,
        }),
      );
      const call = await started.promise;
      expect(call.deadlineMs).to.be.within(clock.now() + 500_000, clock.now() + 600_000);
      expect(call.signal.aborted).to.equal(false);
      clock.advance(600_000);
      expect((await answer).code).to.equal(status.DEADLINE_EXCEEDED);
      expect(call.signal.aborted).to.equal(true);
      expect(clock.pendingTimers).to.equal(sweeps);
    });

    it("end a held stream, and leave no timer behind when the stream ends before", async () => {
      const clock = new ManualClock();
      const held: ResponseStream[] = [];
      const listener = await serve(
        [
          bytesStreaming("/t.T/Hold", (_request, out) => {
            out.sendHeaders();
            held.push(out);
          }),
        ],
        { server: { clock } },
      );
      const client = new BytesClient(listener);
      const options = { deadline: Date.now() + 600_000 };
      const expired = client.stream("/t.T/Hold", undefined, undefined, options);
      await expired.headers;
      clock.advance(600_000);
      expect((await expired.status).code).to.equal(status.DEADLINE_EXCEEDED);
      const ended = client.stream("/t.T/Hold", undefined, undefined, options);
      await ended.headers;
      expect(clock.pendingTimers).to.equal(sweeps + 1);
      ended.call.cancel();
      await eventually(() => clock.pendingTimers === sweeps, "the timer to be called off");
      expect(held).to.have.length(2);
    });

    it("never fire for a client with a timeout of centuries, and refuse an invalid timeout", async () => {
      const clock = new ManualClock();
      const session = http2Client(await serve([echo, hold], { server: { clock } }));
      const held = session.request({ ...grpcHeaders("/t.T/Hold"), "grpc-timeout": "99999999H" });
      held.write(frameMessage(Buffer.from("x")));
      await once(held, "response");
      expect(clock.pendingTimers, "a timer of more than 24 days would fire at once").to.equal(sweeps);
      const patient = session.request({ ...grpcHeaders("/t.T/Echo"), "grpc-timeout": "99999999H" });
      patient.end(frameMessage(Buffer.from("x")));
      expect((await answerOf(patient)).trailers["grpc-status"]).to.equal("0");
      const confused = session.request({ ...grpcHeaders("/t.T/Echo"), "grpc-timeout": "soon" });
      confused.end(frameMessage(Buffer.from("x")));
      expect((await answerOf(confused)).headers["grpc-status"]).to.equal(String(status.INTERNAL));
    });
  });

  describe("server streaming", () => {
    it("sends the headers of a held stream at once, and frames when they are written", async () => {
      const held = deferred<ResponseStream>();
      const listener = await serve([
        bytesStreaming("/t.T/Hold", (_request, out) => {
          out.sendHeaders({ "x-held": "yes" });
          held.resolve(out);
        }),
      ]);
      const probe = new BytesClient(listener).stream("/t.T/Hold");
      expect((await probe.headers).get("x-held")).to.deep.equal(["yes"]);
      const out = await held.promise;
      await new Promise<void>((resolve) => out.write(frameMessage(Buffer.from("one")), () => resolve()));
      out.end({ code: "UNAVAILABLE", message: "moving elsewhere" });
      expect(await probe.status).to.include({ code: status.UNAVAILABLE, details: "moving elsewhere" });
      expect(probe.messages.map(String)).to.deep.equal(["one"]);
    });

    it("ends with the status of what the handler throws", async () => {
      const listener = await serve([
        bytesStreaming("/t.T/Throws", () => {
          throw new RpcError("INVALID_ARGUMENT", "no selector");
        }),
      ]);
      const probe = new BytesClient(listener).stream("/t.T/Throws");
      expect(await probe.status).to.include({ code: status.INVALID_ARGUMENT, details: "no selector" });
    });

    it("notifies the handler when the client cancels or its connection drops", async () => {
      const closed: string[] = [];
      const listener = await serve([
        bytesStreaming("/t.T/Hold", (request, out) => {
          out.sendHeaders();
          const { signal } = out;
          out.onClose(() => closed.push(`${request.toString()} ${signal.aborted}`));
        }),
      ]);
      const cancelled = new BytesClient(listener).stream("/t.T/Hold", Buffer.from("cancelled"));
      await cancelled.headers;
      cancelled.call.cancel();
      await eventually(() => closed.length === 1);
      const session = http2Client(listener);
      const dropped = session.request(grpcHeaders("/t.T/Hold"));
      dropped.on("error", () => undefined);
      dropped.write(frameMessage(Buffer.from("dropped")));
      await once(dropped, "response");
      session.destroy();
      await eventually(() => closed.length === 2);
      expect(closed).to.deep.equal(["cancelled true", "dropped true"]);
    });
  });

  describe("bidirectional streaming", () => {
    const collect = bidiStreaming<string>({
      path: "/t.T/Chat",
      decode: (bytes) => Buffer.from(bytes).toString(),
      handle: (out) => ({
        onMessage: (message) => out.write(frameMessage(Buffer.from(`got ${message}`))),
        onEnd: () => out.end({ code: "OK", message: "" }),
      }),
    });

    it("passes on each message as it arrives, and the client's end", async () => {
      const { raw } = new BytesClient(await serve([collect]));
      const identity = (bytes: Buffer): Buffer => bytes;
      const call = raw.makeBidiStreamRequest("/t.T/Chat", identity, identity, new Metadata());
      const received: string[] = [];
      call.on("data", (message: Buffer) => received.push(message.toString()));
      const ended = new Promise<{ code: number }>((resolve) => call.on("status", resolve));
      for (const message of ["a", "b"]) {
        call.write(Buffer.from(message));
        await eventually(() => received.includes(`got ${message}`));
      }
      call.end();
      expect((await ended).code).to.equal(status.OK);
      expect(received).to.deep.equal(["got a", "got b"]);
    });

    it("does not mistake a cancelled call for one that the client has finished", async () => {
      const events: string[] = [];
      const listener = await serve([
        bidiStreaming({
          path: "/t.T/Chat",
          decode: (bytes) => bytes,
          handle: (out) => {
            out.onClose(() => events.push("close"));
            return { onMessage: () => events.push("message"), onEnd: () => events.push("end") };
          },
        }),
      ]);
      // Written by hand, because node's client half-closes before it resets.
      const client = await rawClient(listener);
      client.send(Buffer.concat([wire.preface, wire.settings(), wire.headers(1, "/t.T/Chat")]));
      client.send(wire.data(1, frameMessage(Buffer.from("x")), 0));
      await eventually(() => events.length === 1);
      client.send(wire.rstStream(1));
      await eventually(() => events.includes("close"));
      expect(events).to.deep.equal(["message", "close"]);
    });

    it("ends with the status of what the listener throws, though the client has not half-closed", async () => {
      const listener = await serve([
        bidiStreaming({
          path: "/t.T/Chat",
          decode: (bytes) => bytes,
          handle: () => ({
            onMessage: () => {
              throw new RpcError("PERMISSION_DENIED", "not yours");
            },
            onEnd: () => undefined,
          }),
        }),
      ]);
      const request = http2Client(listener).request(grpcHeaders("/t.T/Chat"));
      request.write(frameMessage(Buffer.from("x")));
      const { headers, rstCode } = await answerOf(request);
      expect(headers["grpc-status"]).to.equal(String(status.PERMISSION_DENIED));
      expect(rstCode).to.equal(0);
    });
  });

  it("reports the end of each call once, with its status and how long it took", async () => {
    const clock = new ManualClock();
    const ends: [string, string, number][] = [];
    const listener = await serve(
      [
        echo,
        bytesUnary("/t.T/Fails", () => {
          clock.advance(7);
          throw new RpcError("ABORTED", "no");
        }),
        hold,
      ],
      {
        server: {
          clock,
          counts: { onCallEnd: (path, code, durationMs) => ends.push([path, code, durationMs]) },
        },
      },
    );
    const client = new BytesClient(listener);
    await client.unary("/t.T/Echo", Buffer.from("x"));
    await failure(client.unary("/t.T/Fails", Buffer.from("x")));
    const held = client.stream("/t.T/Hold");
    await held.headers;
    held.call.cancel();
    await eventually(() => ends.length === 3);
    await client.unary("/t.T/Echo", Buffer.from("x"));
    expect(ends).to.deep.equal([
      ["/t.T/Echo", "OK", 0],
      ["/t.T/Fails", "ABORTED", 7],
      ["/t.T/Hold", "CANCELLED", 0],
      ["/t.T/Echo", "OK", 0],
    ]);
  });

  it("looks for overdue calls only while it has connections", () => {
    const clock = new ManualClock();
    const server = new GrpcServer({ methods: [], logger: recordingLogger(), clock });
    const timers = (act: () => void): number => {
      act();
      return clock.pendingTimers;
    };
    const opened = (): void => server.onSession({} as TransportSession);
    expect([opened, opened].map(timers)).to.deep.equal([1, 1]);
    expect([() => server.onSessionClosed(), () => server.onSessionClosed()].map(timers)).to.deep.equal([
      1, 0,
    ]);
  });
});
