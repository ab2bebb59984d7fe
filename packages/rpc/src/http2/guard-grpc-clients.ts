import http2, {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  type SecureClientSessionOptions,
} from "node:http2";
import { keepSession } from "./keep-client-sessions.js";
import { MessagePieces } from "./message-pieces.js";

let isGuarded = false;

/**
 * Guards the clients of grpc-js in this process against what servers may do beside gRPC. grpc-js offers no way to its sessions, but looks
 * `connect` up in node's module each time.
 *
 * - A session is kept as long as its streams (see `keepSession`).
 * - A stream ends whose message comes in too many pieces (see `MessagePieces`).
 * - No server may push: node would keep what it promises, which nobody reads.
 */
export function guardGrpcClients(): void {
  if (isGuarded) return;
  isGuarded = true;
  const { connect } = http2;
  const guarded = (
    authority: string | URL,
    options: ClientSessionOptions | SecureClientSessionOptions = {},
    listener?: Parameters<typeof connect>[2],
  ): ClientHttp2Session =>
    guardStreams(
      connect(authority, { ...options, settings: { ...options.settings, enablePush: false } }, listener),
    );
  http2.connect = guarded as typeof connect;
}

function guardStreams(session: ClientHttp2Session): ClientHttp2Session {
  const request = session.request.bind(session);
  session.request = (...args) => {
    const stream = request(...args);
    keepSession(session, stream);
    if (isGrpc(args[0])) guardPieces(stream);
    return stream;
  };
  return session;
}

function isGrpc(headers: Parameters<ClientHttp2Session["request"]>[0]): boolean {
  const contentType = headers === undefined || Array.isArray(headers) ? undefined : headers["content-type"];
  return String(contentType).startsWith("application/grpc");
}

/** Not by listening to `data`, which would read from streams that nobody reads, or that are held back. */
function guardPieces(stream: ClientHttp2Stream): void {
  const pieces = new MessagePieces();
  const push = stream.push.bind(stream);
  stream.push = (chunk: Buffer | null): boolean => {
    if (chunk === null || stream.destroyed || pieces.take(chunk)) return push(chunk);
    stream.destroy(new Error("the server sends a message in pieces of a few bytes"));
    return false;
  };
}
