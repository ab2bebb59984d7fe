import http2, { type ClientHttp2Session, type Http2Session } from "node:http2";

type Connect = typeof http2.connect;

/** Has all sessions of HTTP/2 that are opened in this process from now on opened by `connect`, which gets node's own function. grpc-js looks it up each time. */
export function replaceConnect(
  connect: (
    connect: Connect,
    authority: string | URL,
    ...rest: [Parameters<Connect>[1]?, Parameters<Connect>[2]?]
  ) => ClientHttp2Session,
): void {
  const { connect: original } = http2;
  http2.connect = ((authority: string | URL, ...rest: [Parameters<Connect>[1]?, Parameters<Connect>[2]?]) =>
    connect(original, authority, ...rest)) as Connect;
}

/** Has each request of a session made by `request`, which gets the session's own function. */
export function interceptRequests(
  session: ClientHttp2Session,
  request: (
    request: ClientHttp2Session["request"],
    ...args: Parameters<ClientHttp2Session["request"]>
  ) => ReturnType<ClientHttp2Session["request"]>,
): void {
  const original = session.request.bind(session);
  session.request = (...args) => request(original, ...args);
}

let handleKey: symbol | undefined;

/** Node's native session. Undefined where node keeps it elsewhere. */
export function nativeSessionOf(session: Http2Session): object | undefined {
  handleKey ??= Object.getOwnPropertySymbols(session).find(({ description }) => description === "kHandle");
  return handleKey === undefined ? undefined : (session as unknown as Record<symbol, object>)[handleKey];
}
