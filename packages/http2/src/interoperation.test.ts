import { once } from "node:events";
import type { RequestListener } from "node:http";
import {
  connect,
  createServer,
  type ClientHttp2Session,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { frameMessage } from "@bunting/rpc";
import {
  afterwards,
  answerOf,
  bytesStreaming,
  bytesUnary,
  eventually,
  grpcHeaders,
  http2Client,
  listen,
  releaseAfterEach,
  serve,
} from "@bunting/test/support/grpc-port.js";

/** Answers with what it was asked, and all that listeners use of node's response. */
const listener: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    switch (request.url) {
      case "/pieces":
        response.writeHead(200, { "content-type": "text/plain", "set-cookie": ["a=1", "b=2"] });
        response.flushHeaders();
        response.write("first ");
        response.write(Buffer.from("second "), () => response.end("third"));
        break;
      case "/trailers":
        response.setHeader("X-Kind", "trailers");
        response.addTrailers({ "x-after": "all" });
        response.end(body);
        break;
      case "/empty":
        response.writeHead(204).end();
        break;
      case "/large":
        response.end(Buffer.alloc(3_000_000, "x"));
        break;
      case "/late":
        setTimeout(() => response.end("late"), 10);
        break;
      default: {
        const { method, url, httpVersion, httpVersionMajor, headers } = request;
        response.setHeader("content-type", "application/json");
        const seen = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== ":authority"));
        delete seen["host"];
        response.end(
          method === "HEAD"
            ? undefined
            : JSON.stringify([method, url, httpVersion, httpVersionMajor, seen, body.length]),
        );
      }
    }
  });
};

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly text: string;
}

const requests: Readonly<Record<string, readonly [headers: OutgoingHttpHeaders, body?: Buffer]>> = {
  "GET without a body": [{ ":path": "/a?b=c" }],
  "POST with a body": [{ ":method": "POST", ":path": "/", "content-length": 5 }, Buffer.from("hello")],
  "a body beyond all windows": [{ ":method": "PUT", ":path": "/" }, Buffer.alloc(1_000_000)],
  "repeated headers": [
    { ":path": "/", "x-a": ["one", "two"], cookie: ["a=1", "b=2"], accept: ["*/*", "a/b"] },
  ],
  "headers in several frames": [{ ":path": "/", "x-long": "é".repeat(20_000) }],
  "headers that HPACK must not index": [{ ":path": "/", authorization: "Bearer x", "content-type": "A/B" }],
  HEAD: [{ ":method": "HEAD", ":path": "/" }],
  OPTIONS: [{ ":method": "OPTIONS", ":path": "*" }],
  CONNECT: [{ ":method": "CONNECT", ":authority": "example.org:80" }],
  "an answer in pieces": [{ ":path": "/pieces" }],
  "an answer with trailers": [{ ":path": "/trailers", ":method": "POST" }, Buffer.from("body")],
  "an answer without content": [{ ":path": "/empty" }],
  "an answer beyond all windows": [{ ":path": "/large" }],
  "an answer that comes later": [{ ":path": "/late" }],
  "Expect: 100-continue": [{ ":method": "POST", ":path": "/", expect: "100-continue" }, Buffer.from("body")],
};

/** What clients may announce; each must get the same answers. */
const clients: Readonly<Record<string, NonNullable<Parameters<typeof connect>[1]>>> = {
  "as it is": {},
  "without a table of headers": { settings: { headerTableSize: 0 } },
  "with a small table of headers": { settings: { headerTableSize: 100 } },
  "with small windows": { settings: { initialWindowSize: 1_000 } },
  "with large windows and frames": { settings: { initialWindowSize: 10_000_000, maxFrameSize: 2 ** 24 - 1 } },
};

describe("our HTTP/2 and node's client", () => {
  releaseAfterEach();

  async function ask(session: ClientHttp2Session, name: string): Promise<Answer> {
    const [headers = {}, body] = requests[name] ?? [];
    const stream = session.request(headers, {
      endStream: body === undefined && headers[":method"] !== "CONNECT",
    });
    if (body !== undefined) stream.end(body);
    const { headers: answered, trailers, body: content } = await answerOf(stream);
    delete answered.date;
    return { headers: { ...answered }, trailers: { ...trailers }, text: content.toString("latin1") };
  }

  async function nodesServer(): Promise<number> {
    const server = createServer((request, response) =>
      listener(request as never, response as unknown as Parameters<RequestListener>[1]),
    );
    server.on("connect", (_request: unknown, response: Http2ServerResponse) => {
      response.writeHead(405);
      response.end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    afterwards(() => server.close());
    return (server.address() as AddressInfo).port;
  }

  for (const [what, options] of Object.entries(clients)) {
    it(`${what}: answers as node's server does`, async () => {
      const ours = http2Client(await listen({ http: listener, grpc: { onStream: () => undefined } }), {
        maxSendHeaderBlockLength: 100_000,
        ...options,
      });
      const nodes = connect(`http://127.0.0.1:${await nodesServer()}`, {
        maxSendHeaderBlockLength: 100_000,
        ...options,
      });
      afterwards(() => nodes.destroy());
      // Twice, because the second time the tables of HPACK have been filled; and then all at once.
      for (const name of [...Object.keys(requests), ...Object.keys(requests)])
        expect(await ask(ours, name), name).to.deep.equal(await ask(nodes, name));
      const names = Object.keys(requests);
      const answers = await Promise.all(names.map((name) => ask(ours, name)));
      const expected = await Promise.all(names.map((name) => ask(nodes, name)));
      for (const [index, name] of names.entries())
        expect(answers[index], `${name}, among others`).to.deep.equal(expected[index]);
    });
  }

  it("continues after the client has made its table of headers and its windows smaller and larger", async () => {
    const session = http2Client(await listen({ http: listener, grpc: { onStream: () => undefined } }));
    for (const settings of [
      { headerTableSize: 0, initialWindowSize: 10 },
      { headerTableSize: 4_096, initialWindowSize: 100_000 },
      { headerTableSize: 50, initialWindowSize: 0 },
      { headerTableSize: 10_000, initialWindowSize: 65_535 },
    ]) {
      const pending = ask(session, "an answer in pieces");
      session.settings(settings);
      await once(session, "localSettings");
      if (settings.initialWindowSize === 0) session.settings({ initialWindowSize: 1_000 });
      expect((await pending).text).to.equal("first second third");
    }
  });

  it("sends no more than the windows of the streams and of the connection allow, and all in the end", async () => {
    const session = http2Client(
      await serve([
        bytesStreaming("/t.T/Many", (_request, out) => {
          for (let count = 0; count < 5; count++) out.write(frameMessage(Buffer.alloc(20_000, "x")));
          out.end({ code: "OK", message: "" });
        }),
      ]),
      { settings: { initialWindowSize: 30_000 } },
    );
    const streams = Array.from({ length: 8 }, () => session.request(grpcHeaders("/t.T/Many")));
    for (const stream of streams) stream.end(frameMessage(Buffer.alloc(0)));
    const answers = await Promise.all(streams.map((stream) => answerOf(stream)));
    for (const { body, trailers } of answers) {
      expect(body).to.have.length(100_025);
      expect(trailers["grpc-status"]).to.equal("0");
    }
  });

  it("answers thousands of calls whose headers change the table each time", async () => {
    const session = http2Client(await serve([bytesUnary("/t.T/Echo", (request) => request)]));
    let answered = 0;
    for (let batch = 0; batch < 20; batch++) {
      const calls = Array.from({ length: 50 }, async (_, index) => {
        const text = `call ${batch}-${index}`;
        const call = session.request({ ...grpcHeaders("/t.T/Echo"), "x-call": text, [`x-${index}`]: "y" });
        call.end(frameMessage(Buffer.from(text)));
        const { body, trailers } = await answerOf(call);
        expect(body.subarray(5).toString()).to.equal(text);
        expect(trailers["grpc-status"]).to.equal("0");
        answered++;
      });
      await Promise.all(calls);
    }
    expect(answered).to.equal(1_000);
  });

  it("frees an answer that a client resets, in any of its states", async () => {
    let opened = 0;
    let closed = 0;
    const onRequest: RequestListener = (request, response) => {
      opened++;
      response.once("close", () => closed++);
      request.resume();
      if (request.url !== "/silent") response.write("x");
      if (request.url === "/endless") response.write(Buffer.alloc(1_000_000));
    };
    const port = await listen({ http: onRequest, grpc: { onStream: () => undefined } });
    const session = http2Client(port);
    for (const path of ["/silent", "/begun", "/endless"]) {
      for (const method of ["GET", "POST"]) {
        const before = closed;
        const request = session.request({ ":path": path, ":method": method });
        request.on("error", () => undefined);
        await (path === "/silent" ? eventually(() => opened === before + 1) : once(request, "response"));
        request.close(8);
        await eventually(() => closed === before + 1, `${method} ${path}`);
      }
    }
  });
});
