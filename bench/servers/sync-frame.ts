import { encodeDocument, syncV1, type FlagDocument } from "@bunting/protocol";

/** A SyncFlagsResponse with its gRPC prefix: what a server sends for one version. */
export function syncFrame(document: FlagDocument): Buffer {
  const flagConfiguration = encodeDocument(document);
  const message = syncV1.SyncFlagsResponse.encode({ flagConfiguration, syncContext: undefined }).finish();
  const frame = Buffer.allocUnsafeSlow(5 + message.length);
  frame.writeUInt8(0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}
