import type { Amendment } from "./amend.js";

/** What agent and proxy change in grpc-js. */
export const amendmentsOfGrpcClients: readonly Amendment[] = [
  {
    of: "@grpc/grpc-js",
    file: "build/src/stream-decoder.js",
    find: "const framedMessage = Buffer.concat(framedMessageBuffers, this.readMessageSize + 5);",
    replaceWith:
      "const framedMessage = Buffer.concat(framedMessageBuffers, this.readMessageSize + 5); this.readPartialMessage = []; this.readCompressFlag = this.readPartialSize;",
    reason:
      "a stream keeps the pieces of the last message beside the message until the next one begins: a second copy of all flags, for as long as nobody edits one; the decoder is private to the call",
  },
];
