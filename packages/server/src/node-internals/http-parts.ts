import { dropBody } from "./drop-body.js";
import { hasHeadParts } from "./head-parts.js";
import { interceptPush } from "./intercept-push.js";
import type { ParserSample } from "./parser-sample.js";
import { hasRequestCallback } from "./stop-parsing.js";

/** Something of node that its documentation does not promise, and what depends on it. */
export interface NodePart {
  readonly name: string;
  /** The limit that is off without the part, as the text of a warning. */
  readonly limit: string;
  /** Checks for the part at once, within the process. */
  readonly isThere: (sample: ParserSample) => boolean;
}

const threeChunks =
  "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n";

/** Parts of node's parser that HTTP/1.1 needs. */
export const httpParts: readonly NodePart[] = [
  {
    name: "head-parts",
    limit: "headers that are not complete are not charged to their connection",
    isThere: ({ socket }) => hasHeadParts(socket),
  },
  {
    name: "drop-body",
    limit: "what has been read of a body that was refused is parsed to its end",
    // The part may exist without effect.
    isThere: ({ parse }) => {
      let pieces = 0;
      parse(threeChunks, (request) =>
        interceptPush(request, (piece) => {
          if (piece !== null) pieces++;
          dropBody(request.socket);
          return true;
        }),
      );
      return pieces === 1;
    },
  },
  {
    name: "stop-parsing",
    limit: "pipelined requests beyond the limit are parsed to the end of what was read",
    isThere: ({ socket }) => hasRequestCallback(socket),
  },
];
