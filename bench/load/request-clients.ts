import { Agent, request } from "node:http";
import { connect } from "node:http2";

export interface Request {
  readonly path: string;
  readonly body: Buffer;
}

/** Sends a request, and resolves once its answer has arrived whole; rejects if that is no success. */
export type Ask = (request: Request) => Promise<void>;

/** Over one connection of HTTP/2; a message gets its prefix here. */
export function grpcClient(port: number, onError: (error: Error) => void): [ask: Ask, close: () => void] {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", onError);
  const ask: Ask = ({ path, body }) =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
      });
      let status: string | undefined;
      const noteStatus = (headers: Record<string, unknown>): void => {
        const value = headers["grpc-status"];
        if (typeof value === "string") status = value;
      };
      stream.on("response", noteStatus);
      stream.on("trailers", noteStatus);
      stream.on("error", reject);
      stream.on("close", () => {
        if (status === "0") resolve();
        else reject(new Error(`${path} ended with status ${status ?? "none"}`));
      });
      stream.resume();
      const frame = Buffer.alloc(5 + body.length);
      frame.writeUInt32BE(body.length, 1);
      frame.set(body, 5);
      stream.end(frame);
    });
  return [ask, () => session.close()];
}

/** POST over one connection of HTTP/2, without TLS. */
export function http2Client(port: number, onError: (error: Error) => void): [ask: Ask, close: () => void] {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", onError);
  const ask: Ask = ({ path, body }) =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/json",
        "content-length": body.length,
      });
      let status: unknown;
      stream.on("response", (headers) => (status = headers[":status"]));
      stream.on("error", reject);
      stream.on("close", () => {
        if (status === 200) resolve();
        else reject(new Error(`${path} was answered with status ${String(status)}`));
      });
      stream.resume();
      stream.end(body);
    });
  return [ask, () => session.close()];
}

/**
 * POST over connections that are kept.
 *
 * @param firstPath of the first request of each connection; default: as of the others
 */
export function http1Client(
  port: number,
  connections: number,
  firstPath?: string,
): [ask: Ask, close: () => void] {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let left = firstPath === undefined ? 0 : connections;
  const ask: Ask = ({ path: ownPath, body }) =>
    new Promise((resolve, reject) => {
      const path = left-- > 0 && firstPath !== undefined ? firstPath : ownPath;
      const headers = { "content-type": "application/json", "content-length": body.length };
      const call = request({ agent, host: "127.0.0.1", port, method: "POST", path, headers });
      call.on("error", reject);
      call.on("response", (response) => {
        response.resume();
        response.on("end", () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`${path} was answered with status ${response.statusCode ?? "none"}`));
        });
      });
      call.end(body);
    });
  return [ask, () => agent.destroy()];
}
