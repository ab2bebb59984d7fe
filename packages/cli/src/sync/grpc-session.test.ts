import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { GrpcSession, type SessionCallEnd } from "./grpc-session.js";

/** What became of a call. */
interface Called {
  readonly messages: readonly string[];
  readonly hasOpened: boolean;
  readonly end: SessionCallEnd;
}

function call(session: GrpcSession, sent = "hello"): Promise<Called> {
  return new Promise((resolve) => {
    const messages: string[] = [];
    let hasOpened = false;
    const stream = session.call(
      "/x.Y/Z",
      {},
      {
        opened: () => (hasOpened = true),
        message: (bytes) => messages.push(bytes.toString()),
        ended: (end) => resolve({ messages, hasOpened, end }),
      },
    );
    stream.send(Buffer.from(sent));
    stream.finish();
  });
}

function framed(text: string): Buffer {
  const frame = Buffer.alloc(5 + Buffer.byteLength(text));
  frame.writeUInt32BE(frame.length - 5, 1);
  frame.write(text, 5);
  return frame;
}

describe("GrpcSession", () => {
  let server: Http2Server;
  let session: GrpcSession;
  let answer: (stream: ServerHttp2Stream) => void;
  const sessions: ServerHttp2Session[] = [];
  beforeEach(async () => {
    server = createServer();
    server.on("session", (opened) => sessions.push(opened));
    server.on("stream", (stream) => {
      stream.on("error", () => undefined);
      answer(stream);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    session = new GrpcSession({
      address: { host: "127.0.0.1", port: (server.address() as AddressInfo).port },
    });
  });
  afterEach(() => {
    session.close();
    for (const opened of sessions.splice(0)) opened.destroy();
    server.close();
  });

  it("takes messages out of frames, however they are cut, and the status out of the trailers", async () => {
    answer = (stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () =>
        stream.sendTrailers({ "grpc-status": "14", "grpc-message": "off%20now" }),
      );
      const bytes = Buffer.concat([framed("one"), framed(""), framed("three")]);
      for (let at = 0; at < bytes.length; at += 4) stream.write(bytes.subarray(at, at + 4));
      stream.end();
    };
    expect(await call(session)).to.deep.equal({
      messages: ["one", "", "three"],
      hasOpened: true,
      end: { status: 14, message: "off now" },
    });
  });

  it("takes the status of a call that was refused at once", async () => {
    answer = (stream) => stream.respond({ ":status": 200, "grpc-status": "12" }, { endStream: true });
    expect(await call(session)).to.deep.include({ hasOpened: false, end: { status: 12, message: "" } });
  });

  it("says that a server is none of gRPC", async () => {
    answer = (stream) => stream.respond({ ":status": 404 }, { endStream: true });
    const missing = await call(session);
    expect(missing.end).to.deep.equal({
      status: undefined,
      message: "the server answered with HTTP status 404",
      isHopeless: true,
    });
    answer = (stream) => {
      stream.respond({ ":status": 200 });
      stream.end("<html><body>hello</body></html>");
    };
    expect((await call(session)).end.message).to.contain("a gRPC frame starts with the byte 60");
  });

  it("ends a call whose message can't be read", async () => {
    answer = (stream) => {
      stream.respond({ ":status": 200 });
      stream.write(framed("odd"));
    };
    const end = await new Promise<SessionCallEnd>((resolve) => {
      const message = (): void => {
        throw new Error("index out of range");
      };
      session.call("/x.Y/Z", {}, { message, ended: resolve }).finish();
    });
    expect(end.message).to.equal("the server sent a message that can't be read: index out of range");
  });

  it("ends its calls when it is closed, so that a server has what was sent before the connection ends", async () => {
    const received = new Promise<{ readonly text: string; readonly isAborted: boolean }>((resolve) => {
      answer = (stream) => {
        let text = "";
        stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
        stream.once("end", () => stream.end());
        stream.once("close", () => resolve({ text, isAborted: stream.aborted }));
        stream.respond({ ":status": 200, "content-type": "application/grpc" });
        stream.write(framed("version"));
      };
    });
    const take = (): void => {
      open.send(Buffer.from("taken"));
      session.close();
    };
    const open = session.call("/x.Y/Z", {}, { message: take, ended: () => undefined });
    const { text, isAborted } = await received;
    expect(text).to.contain("taken");
    expect(isAborted).to.equal(false);
  });

  it("says why the connection failed, also to calls after that", async () => {
    const nobody = new GrpcSession({ address: { host: "127.0.0.1", port: 1 } });
    expect((await call(nobody)).end).to.deep.equal({
      status: undefined,
      message: "connect ECONNREFUSED 127.0.0.1:1",
    });
    expect((await call(nobody)).end.message).to.equal("connect ECONNREFUSED 127.0.0.1:1");
    answer = (stream) => stream.session?.destroy();
    expect((await call(session)).end.status).to.equal(undefined);
    expect((await call(session)).end.status).to.equal(undefined);
  });
});
