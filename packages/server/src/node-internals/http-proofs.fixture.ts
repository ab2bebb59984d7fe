import { isAnswerUnderWay } from "./answer-under-way.js";
import { dropBody } from "./drop-body.js";
import { watchHeadParts } from "./head-parts.js";
import { interceptPush } from "./intercept-push.js";
import type { NodeProof } from "./node-proof.fixture.js";
import { probe } from "./probe.fixture.js";
import { stopParsing } from "./stop-parsing.js";

const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
const threeChunks =
  "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n";
const ignore = (): void => undefined;

/** Parts of node's parser and server that HTTP/1.1 needs. Each is proved on a connection within the process. */
export const httpProofs: readonly NodeProof[] = [
  {
    name: "head-parts",
    limit: "headers that are not complete are not charged to their connection",
    works: () =>
      probe(ignore, async ({ socket, send }) => {
        let parts = 0;
        watchHeadParts(socket, { onHeadPart: () => parts++ });
        await send(`GET / HTTP/1.1\r\n${"a: b\r\n".repeat(40)}`);
        return parts > 0;
      }),
  },
  {
    name: "drop-body",
    limit: "what has been read of a body that was refused is parsed to its end",
    works: () => {
      let pieces = 0;
      return probe(
        (request) =>
          interceptPush(request, (piece, push) => {
            if (piece !== null) pieces++;
            dropBody(request.socket);
            return push(piece);
          }),
        async ({ send }) => {
          await send(threeChunks);
          return pieces === 1;
        },
      );
    },
  },
  {
    name: "stop-parsing",
    limit: "pipelined requests beyond the limit are parsed to the end of what was read",
    works: () => {
      let requests = 0;
      return probe(
        ({ socket }) => {
          requests++;
          stopParsing(socket);
        },
        async ({ send }) => {
          await send(get.repeat(3));
          return requests === 1;
        },
      );
    },
  },
  {
    name: "intercept-push",
    limit:
      "bodies that come in very small pieces are not refused, and bodies of waiting requests are not charged",
    works: () => {
      const pieces: (string | undefined)[] = [];
      return probe(
        (request) =>
          interceptPush(request, (piece, push) => {
            pieces.push(piece?.toString());
            return push(piece);
          }),
        async ({ send }) => {
          await send(threeChunks);
          return pieces.join() === "a,b,c,";
        },
      );
    },
  },
  {
    name: "answer-under-way",
    limit: "a last answer may be sent in the middle of another one",
    works: () => {
      const seen: boolean[] = [];
      return probe(
        ({ socket }, response) => {
          seen.push(isAnswerUnderWay(socket));
          response.writeHead(200, { "content-length": 5 }).flushHeaders();
          seen.push(isAnswerUnderWay(socket));
        },
        async ({ send }) => {
          await send(get);
          return seen.join() === "false,true";
        },
      );
    },
  },
  {
    name: "head-limit",
    limit: "the limit on the bytes of a head is that of node, not what memory there is",
    works: () =>
      probe(
        ignore,
        async ({ errors, send }) => {
          await send(`GET / HTTP/1.1\r\nhost: a\r\nb: ${"x".repeat(3_000)}\r\n\r\n`);
          return errors.join() === "HPE_HEADER_OVERFLOW";
        },
        2_000,
      ),
  },
  {
    name: "connection-tracking",
    limit: "requests that arrive too slowly are not ended, nor idle connections at shutdown",
    works: () =>
      probe(
        (_, response) => void response.end(),
        async ({ server, socket, send }) => {
          await send(get);
          server.closeIdleConnections();
          return socket.destroyed;
        },
      ),
  },
];
