import { Exchange } from "./exchange.js";
import { bodyOf, type GoldenRequest } from "./golden-case.js";
import { Http1Reader } from "./http1-reader.js";
import type { Connect } from "./transport.js";

/** Sends a request over HTTP/1.1, exactly as it is written, on a connection of its own. */
export function requestOverHttp1(connect: Connect, request: GoldenRequest): Exchange {
  const exchange = new Exchange();
  const socket = connect("http/1.1");
  exchange.onDrop = () => socket.destroy();
  const reader = new Http1Reader(exchange, request.method === "HEAD");
  socket.write(bytesOf(request));
  socket.on("data", (chunk) => reader.push(chunk));
  socket.on("error", (error: NodeJS.ErrnoException) =>
    exchange.finish(error.code === "ECONNREFUSED" ? "refused" : reader.endNow()),
  );
  socket.on("close", () => exchange.finish(reader.endNow()));
  void exchange.finished.then(() => socket.destroy());
  return exchange;
}

function bytesOf(request: GoldenRequest): Buffer {
  const body = bodyOf(request);
  if (request.http === "raw") return body;
  const { method = "POST", headers = [], chunked = false } = request;
  const has = (name: string): boolean => headers.some(([key]) => key.toLowerCase() === name);
  const lines = [`${method} ${request.path ?? "/"} HTTP/1.1`];
  if (!has("host")) lines.push(`Host: ${request.authority ?? "127.0.0.1"}`);
  lines.push(...headers.map(([name, value]) => `${name}: ${value}`));
  if (request.http === "h2c-upgrade") {
    lines.push("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__");
  }
  const expectsBody = !["GET", "HEAD", "OPTIONS", "DELETE"].includes(method);
  if (chunked) lines.push("Transfer-Encoding: chunked");
  else if (!has("content-length") && (body.length > 0 || expectsBody))
    lines.push(`Content-Length: ${body.length}`);
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), chunked ? inTwoChunks(body) : body]);
}

function inTwoChunks(body: Buffer): Buffer {
  const half = body.length >> 1;
  const chunks = [body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0);
  const framed = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...framed, Buffer.from("0\r\n\r\n")]);
}
