import type { ServerHttp2Stream } from "node:http2";
import { gzipSync } from "node:zlib";
import { open } from "../../support/hostile-sync-server.js";

const prefixBytes = 5;
/** What 600 MB of spaces are packed to. */
const bomb = gzipSync(Buffer.alloc(600_000_000, " "), { level: 9 });

/** A frame of gRPC, which may announce another length than it has. */
function frame(flag: number, body: Buffer, length = body.length): Buffer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, body]);
}

function trailersOnly(stream: ServerHttp2Stream, headers: Readonly<Record<string, string>>): void {
  stream.respond(
    { ":status": 200, "content-type": "application/grpc+proto", ...headers },
    { endStream: true },
  );
}

/** Ways in which a server ends a stream, or has its client end it. */
export const brokenStreams: readonly ((stream: ServerHttp2Stream) => void)[] = [
  // A GOAWAY for each turn, more than any connection needs.
  (stream) => {
    open(stream);
    for (let sent = 0; sent < 2_000; sent++) stream.session?.goaway(0, 0, Buffer.alloc(100));
    stream.session?.destroy();
  },
  (stream) => {
    stream.session?.goaway(11, 0, Buffer.from("too_many_pings"));
    stream.session?.destroy();
  },
  (stream) => stream.session?.destroy(),
  (stream) => trailersOnly(stream, { "grpc-status": "abc", "grpc-retry-pushback-ms": "-5" }),
  (stream) =>
    trailersOnly(stream, {
      "grpc-status": "9".repeat(20),
      "grpc-message": "%zz%",
      "grpc-status-details-bin": "no base64!",
    }),
  (stream) => void open(stream).end(),
  (stream) => void open(stream, { "grpc-encoding": "snappy" }).write(frame(1, Buffer.alloc(100))),
  (stream) => void open(stream).write(frame(7, Buffer.alloc(100))),
  (stream) => void open(stream).write(frame(0, Buffer.alloc(1_000), 2 ** 31)),
  (stream) => {
    const headers = Array.from({ length: 60 }, (_, index) => [`h${index}`, "x".repeat(1_000)]);
    open(stream, Object.fromEntries(headers) as Record<string, string>).end();
  },
  (stream) => void open(stream, { "grpc-encoding": "gzip" }).write(frame(1, bomb)),
];
