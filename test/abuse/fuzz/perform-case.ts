import { request as httpRequest } from "node:http";
import { connect, constants, type IncomingHttpHeaders } from "node:http2";
import { createConnection, type Socket } from "node:net";
import { frameHeaderBytes, frameType } from "../../../bench/load/http2-frames.js";
import { isAcceptedAnswer } from "./accepted.js";
import type { FuzzCase } from "./fuzz-case.js";
import type { Subjects } from "./subjects.js";

/** How long a connection without an answer is kept: many cases must be done in a second. */
const quietMs = 25;
const maxMs = 400;
/** Of what is said about an answer. An error repeats the key of its flag, which is as long as a path may be. */
const maxTextLength = 20_000;
const internalError = constants.NGHTTP2_INTERNAL_ERROR;
/** UNKNOWN and INTERNAL. */
const ourFault = new Set(["2", "13"]);

/** Does what the case says. @throws Error if the answer says that the process is at fault, for no accepted reason. */
export async function performCase(fuzzCase: FuzzCase, subjects: Subjects): Promise<void> {
  const problem = await problemOf(fuzzCase, subjects);
  if (problem === undefined) return;
  const what = fuzzCase.kind === "document" ? fuzzCase.route : fuzzCase.port;
  const text = `${what} ${"path" in fuzzCase ? fuzzCase.path : ""} ${problem}`;
  if (!isAcceptedAnswer(text)) throw new Error(`an answer without a reason: ${text}`);
}

function problemOf(fuzzCase: FuzzCase, subjects: Subjects): Promise<string | undefined> {
  switch (fuzzCase.kind) {
    case "bytes":
      return performBytes(fuzzCase, subjects.port(fuzzCase.port));
    case "call":
      return performCall(fuzzCase, subjects.port(fuzzCase.port));
    case "http":
      return performHttp(fuzzCase, subjects.port(fuzzCase.port));
    case "document":
      subjects.deliver(fuzzCase.route, fuzzCase.bytes);
      return Promise.resolve(undefined);
  }
}

type CaseOf<Kind extends FuzzCase["kind"]> = Extract<FuzzCase, { kind: Kind }>;

async function performBytes(
  { writes, endsAbruptly }: CaseOf<"bytes">,
  port: number,
): Promise<string | undefined> {
  const socket = createConnection(port, "127.0.0.1");
  const answer: Buffer[] = [];
  let lastMs = performance.now();
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => {
    answer.push(chunk);
    lastMs = performance.now();
  });
  for (const bytes of writes) await write(socket, bytes);
  if (!endsAbruptly) socket.end();
  const startMs = performance.now();
  while (!socket.destroyed && performance.now() - lastMs < quietMs && performance.now() - startMs < maxMs) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  socket.destroy();
  return problemInBytes(Buffer.concat(answer));
}

function write(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, quietMs);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (socket.destroyed) done();
    else socket.write(bytes, done);
  });
}

function problemInBytes(answer: Buffer): string | undefined {
  if (answer.subarray(0, 5).toString("latin1") === "HTTP/") {
    return /^HTTP\/1\.\d 5\d\d.*/m.exec(answer.toString("latin1"))?.[0];
  }
  let problem: string | undefined;
  for (let at = 0; at + frameHeaderBytes <= answer.length;) {
    const length = answer.readUIntBE(at, 3);
    const type = answer[at + 3];
    const codeAt = at + frameHeaderBytes + (type === frameType.goaway ? 4 : 0);
    const hasCode =
      (type === frameType.rstStream || type === frameType.goaway) && codeAt + 4 <= answer.length;
    if (hasCode && answer.readUInt32BE(codeAt) === internalError) {
      // Node says this, also to all open streams, when a connection breaks the protocol.
      if (type === frameType.goaway) return undefined;
      problem ??= "RST_STREAM INTERNAL_ERROR";
    }
    at += frameHeaderBytes + length;
  }
  return problem;
}

function performCall({ path, headers, body }: CaseOf<"call">, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session = connect(`http://127.0.0.1:${port}`);
    session.on("error", () => undefined);
    const stream = session.request({ ":method": "POST", ":path": path, te: "trailers", ...headers });
    let problem: string | undefined;
    const read = (answer: IncomingHttpHeaders): void => {
      const grpc = answer["grpc-status"];
      const http = Number(answer[":status"] ?? 200);
      if (typeof grpc === "string" && ourFault.has(grpc))
        problem = `grpc-status ${grpc} ${String(answer["grpc-message"])}`;
      if (http >= 500) problem = `status ${http}`;
    };
    stream.on("response", read).on("trailers", read).resume();
    stream.on("error", () => undefined);
    const timer = setTimeout(() => session.destroy(), maxMs / 2);
    stream.on("close", () => {
      clearTimeout(timer);
      if (stream.rstCode === internalError && problem === undefined && !session.destroyed)
        problem = "RST_STREAM INTERNAL_ERROR";
      session.destroy();
      resolve(problem);
    });
    stream.end(body);
  });
}

function performHttp(
  { method, path, headers, body }: CaseOf<"http">,
  port: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent: false });
    const timer = setTimeout(() => request.destroy(), maxMs);
    let problem: string | undefined;
    request.on("error", () => undefined);
    request.on("response", (response) => {
      const { statusCode = 0 } = response;
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
      response.on("error", () => undefined);
      response.on("end", () => {
        if (statusCode >= 500) problem = `status ${statusCode} ${text.slice(0, maxTextLength)}`;
      });
    });
    request.on("close", () => {
      clearTimeout(timer);
      resolve(problem);
    });
    request.end(body);
  });
}
