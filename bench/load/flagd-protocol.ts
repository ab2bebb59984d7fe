import { constants, gunzipSync } from "node:zlib";
import { readSequence, sequenceHeadBytes } from "../fixtures/sequenced-document.js";
import type { MessageHead } from "./message-head.js";
import type { SubscriberProtocol } from "./subscriber-protocol.js";

/** For a compressed message: enough for the code tables and for more than `sequenceHeadBytes` of the text. */
const gzipHeadBytes = 512;

/** SyncFlags of flagd.sync.v1: one request, then whole documents. */
export function flagdProtocol(selector: string, acceptsGzip: boolean): SubscriberProtocol {
  let last: MessageHead = { kind: "other", sequence: -1 };
  const gzip = new GzipHeads();
  return {
    path: "/flagd.sync.v1.FlagSyncService/SyncFlags",
    headers: [
      ["flagd-selector", selector],
      ...(acceptsGzip ? ([["grpc-accept-encoding", "identity,gzip"]] as const) : []),
    ],
    // One empty message: the header names the topic.
    opening: Buffer.alloc(5),
    isHalfClosed: true,
    headBytes: acceptsGzip ? gzipHeadBytes : sequenceHeadBytes,
    readHead: (bytes, start, end, isCompressed) => {
      if (isCompressed && !acceptsGzip) throw new Error("it is compressed, although gzip was not accepted");
      if (isCompressed) return gzip.read(bytes, start, end);
      const sequence = readSequence(bytes, start, end);
      if (last.sequence !== sequence || last.kind !== "document") last = { kind: "document", sequence };
      return last;
    },
  };
}

/**
 * Reads the beginnings of compressed messages. All subscribers get the same bytes, so the first is decompressed and the others are compared
 * with it: to decompress ten thousand would take the client longer than the broadcast takes the server.
 */
class GzipHeads {
  #bytes = Buffer.alloc(0);
  #head: MessageHead = { kind: "other", sequence: -1 };

  read(bytes: Buffer, start: number, end: number): MessageHead {
    const until = Math.min(end, start + gzipHeadBytes);
    if (this.#bytes.compare(bytes, start, until) !== 0) {
      this.#bytes = Buffer.from(bytes.subarray(start, until));
      // The beginning of a compressed message is incomplete; decompress as much as possible.
      const text = gunzipSync(this.#bytes, { finishFlush: constants.Z_SYNC_FLUSH });
      this.#head = { kind: "gzip", sequence: readSequence(text, 0, text.length) };
    }
    return this.#head;
  }
}
