import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { interceptPush, interceptRequests, replaceConnect, nativeSessionOf } from "@bunting/server/clients";
import { MessagePieces } from "./message-pieces.js";
import { UnfinishedMessages } from "./unfinished-messages.js";

let isGuarded = false;
const unfinished = new UnfinishedMessages();

/** Our own protocol, in which no server compresses. A few kilobytes would become 16 MB, and that on all connections at once. */
const uncompressedPaths = "/bunting.sync.v1.";
const acceptEncoding = "grpc-accept-encoding";

/** Servers of gRPC send none; gateways may send one or two. */
const mostInterimResponses = 16;
/** A server sends one or two: of the second, whose streams it still answers. */
const mostGoodbyes = 16;

/**
 * Guards the clients of grpc-js in this process against what servers may do beside gRPC. grpc-js offers no way to its sessions, but looks
 * `connect` up in node's module each time.
 *
 * - A session is kept as long as its streams (see `keepSession`).
 * - A stream ends whose message comes in too many pieces (see `MessagePieces`), is too large beside those of other streams that are not whole either
 *   (see `UnfinishedMessages`), or is compressed, which streams of our own protocol don't accept.
 * - A stream ends that brings one interim response (103) after the other: node keeps their headers outside of the heap until it is collected, and that
 *   is when a container of 64 MiB has long been full.
 * - A connection ends over which one GOAWAY comes after the other: each brings as many bytes as the server likes, and 50 MB of them wait outside of the
 *   heap.
 * - No server may push: node would keep what it promises, which nobody reads.
 */
export function guardGrpcClients(): void {
  if (isGuarded) return;
  isGuarded = true;
  replaceConnect((connect, authority, options = {}, listener) =>
    guardStreams(
      connect(authority, { ...options, settings: { ...options.settings, enablePush: false } }, listener),
    ),
  );
}

function guardStreams(session: ClientHttp2Session): ClientHttp2Session {
  let goodbyes = 0;
  session.on("goaway", () => {
    if (++goodbyes === mostGoodbyes)
      session.destroy(new Error(`the server says ${goodbyes} times that it goes away`));
  });
  interceptRequests(session, (request, ...args) => {
    const headers = headersOf(args[0]);
    const isPlain = String(headers?.[":path"]).startsWith(uncompressedPaths);
    if (isPlain && headers !== undefined) headers[acceptEncoding] = "identity";
    const stream = request(...args);
    keepSession(session, stream);
    guardInterimResponses(stream);
    if (String(headers?.["content-type"]).startsWith("application/grpc")) guardMessages(stream, isPlain);
    return stream;
  });
  return session;
}

function headersOf(headers: Parameters<ClientHttp2Session["request"]>[0]): OutgoingHttpHeaders | undefined {
  return Array.isArray(headers) ? undefined : headers;
}

function guardInterimResponses(stream: ClientHttp2Stream): void {
  let responses = 0;
  stream.on("headers", () => {
    if (++responses === mostInterimResponses)
      stream.destroy(new Error(`the server sends ${responses} interim responses`));
  });
}

function guardMessages(stream: ClientHttp2Stream, isPlain: boolean): void {
  const pieces = new MessagePieces();
  let unfinishedBytes = 0;
  const countUnfinished = (bytes: number): boolean => {
    const fits = unfinished.change(unfinishedBytes, bytes);
    unfinishedBytes = bytes;
    return fits;
  };
  const refusalOf = (chunk: Buffer): string | undefined => {
    if (!pieces.take(chunk)) return "the server sends a message in pieces of a few bytes";
    if (isPlain && pieces.isCompressed) return "the server sends a compressed message, which is not accepted";
    if (!countUnfinished(pieces.unfinishedBytes))
      return "the server sends a large message while others of which much has come are not whole";
    return undefined;
  };
  stream.once("close", () => countUnfinished(0));
  interceptPush(stream, (chunk, push) => {
    if (chunk === null || stream.destroyed) return push(chunk);
    const refusal = refusalOf(chunk);
    if (refusal === undefined) return push(chunk);
    stream.destroy(new Error(refusal));
    return false;
  });
}

const collections = new FinalizationRegistry<object>(() => {
  // Nothing is left to do: what mattered was the reference to the session.
});

/**
 * Keeps node's native session until this stream of it has been collected. Node drops it when it destroys the session, and its destructor aborts
 * the process (`Assertion failed: (current_nghttp2_memory_) == (0)`) if a native stream still holds headers that nghttp2 has allocated for the
 * session: a server need only not end the headers of a response. Servers are not affected: their HTTP/2 is ours.
 */
function keepSession(session: ClientHttp2Session, stream: ClientHttp2Stream): void {
  if (stream.pending) stream.once("ready", () => keep(session, stream));
  else keep(session, stream);
}

function keep(session: ClientHttp2Session, stream: ClientHttp2Stream): void {
  const native = nativeSessionOf(session);
  if (native !== undefined) collections.register(stream, native);
}
