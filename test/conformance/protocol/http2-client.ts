import http2 from "node:http2";
import { TLSSocket } from "node:tls";
import { Exchange } from "./exchange.js";
import { bodyOf, type GoldenRequest } from "./golden-case.js";
import type { Connect } from "./transport.js";

/** The error codes of HTTP/2, by number. */
const codeNames =
  "NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM".split(
    " ",
  );

export function resetEnd(code: number): `reset:${string}` {
  return `reset:${codeNames[code] ?? `CODE_${code}`}`;
}

/** Sends a request over HTTP/2 with prior knowledge, on a connection of its own. */
export function requestOverHttp2(connect: Connect, request: GoldenRequest): Exchange {
  const exchange = new Exchange();
  const socket = connect("h2");
  const session = http2.connect(`${socket instanceof TLSSocket ? "https" : "http"}://127.0.0.1`, {
    createConnection: () => socket,
  });
  let isHttp2 = false;
  session.once("remoteSettings", () => {
    isHttp2 = true;
  });
  session.on("error", (error: NodeJS.ErrnoException) => {
    exchange.finish(error.code === "ECONNREFUSED" ? "refused" : isHttp2 ? "closed" : "not-http2");
    session.destroy();
  });
  session.on("close", () => exchange.finish(isHttp2 ? "closed" : "not-http2"));
  const body = bodyOf(request);
  const keepsOpen = request.stream?.halfOpen === true;
  const hasBody = body.length > 0 || keepsOpen;
  const stream = session.request(headersOf(request), { endStream: !hasBody });
  exchange.onDrop = () => {
    stream.close(http2.constants.NGHTTP2_CANCEL);
    session.destroy();
  };
  const read = (headers: http2.IncomingHttpHeaders): [string, string][] =>
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith(":") ? [] : [value].flat().map((one): [string, string] => [name, String(one)]),
    );
  stream.on("response", (headers) => {
    isHttp2 = true;
    exchange.status = headers[":status"] ?? 0;
    exchange.headers = read(headers);
  });
  stream.on("headers", (headers: http2.IncomingHttpHeaders) =>
    exchange.informational.push(Number(headers[":status"])),
  );
  stream.on("trailers", (headers: http2.IncomingHttpHeaders) => {
    exchange.trailers = read(headers);
  });
  stream.on("data", (chunk: Buffer) => exchange.push(chunk));
  stream.on("error", () => undefined);
  let isWhole = false;
  stream.on("end", () => {
    isWhole = !stream.aborted;
  });
  stream.on("close", () => {
    const code = stream.rstCode;
    if (!isHttp2) exchange.finish("not-http2");
    else if (code !== 0 && !(exchange.status !== undefined && !isWhole && code === 8))
      exchange.finish(resetEnd(code));
    else exchange.finish(isWhole && exchange.status !== undefined ? "complete" : "closed");
    session.destroy();
  });
  if (keepsOpen) stream.write(body);
  else if (hasBody) stream.end(body);
  return exchange;
}

function headersOf(request: GoldenRequest): http2.OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {
    ":method": request.method ?? "POST",
    ":path": request.path ?? "/",
    ...(request.authority === undefined ? {} : { ":authority": request.authority }),
  };
  for (const [name, value] of request.headers ?? []) {
    const key = name.toLowerCase();
    // Bytes of UTF-8, which node writes as they are.
    const text = Buffer.from(value).toString("latin1");
    const before = headers[key];
    headers[key] = before === undefined ? text : [before, text].flat();
  }
  return headers;
}
