import { constants, gunzipSync } from "node:zlib";
import { readSequence, sequenceHeadBytes } from "../fixtures/sequenced-document.js";
import type { MessageHead } from "./message-head.js";
import type { SubscriberProtocol } from "./subscriber-protocol.js";

/** Of a compressed message: enough for the code tables and more of the text than `sequenceHeadBytes`. */
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
    // One message without a byte: the header names the topic.
    opening: Buffer.alloc(5),
    isHalfClosed: true,
    headBytes: acceptsGzip ? gzipHeadBytes : sequenceHeadBytes,
    readHead: (bytes, start, end, isCompressed) => {
      if (isCompressed && !acceptsGzip) throw new Error("it is compressed, which was not asked for");
      if (isCompressed) return gzip.read(bytes, start, end);
      const sequence = readSequence(bytes, start, end);
      if (last.sequence !== sequence || last.kind !== "document") last = { kind: "document", sequence };
      return last;
    },
  };
}

/**
 * Reads heads of compressed messages. All subscribers are sent the same bytes, so a head is decompressed once and compared from then on:
 * the client would need longer for ten thousand heads than the server for the broadcast.
 */
class GzipHeads {
  #bytes = Buffer.alloc(0);
  #head: MessageHead = { kind: "other", sequence: -1 };

  read(bytes: Buffer, start: number, end: number): MessageHead {
    const until = Math.min(end, start + gzipHeadBytes);
    if (this.#bytes.compare(bytes, start, until) !== 0) {
      this.#bytes = Buffer.from(bytes.subarray(start, until));
      // The head of a compressed message is no whole one: what can be decompressed of it is wanted.
      const text = gunzipSync(this.#bytes, { finishFlush: constants.Z_SYNC_FLUSH });
      this.#head = { kind: "gzip", sequence: readSequence(text, 0, text.length) };
    }
    return this.#head;
  }
}
