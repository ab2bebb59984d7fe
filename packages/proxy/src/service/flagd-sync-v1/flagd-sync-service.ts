import { syncV1 } from "@bunting/protocol";
import { serverStreaming, sharedUnary, unary, type Method } from "@bunting/rpc";
import { maxSelectingBytes, type FlagSync } from "../flag-sync.js";

const { SyncFlagsRequest, FetchAllFlagsRequest, GetMetadataRequest, GetMetadataResponse } = syncV1;
const service = "/flagd.sync.v1.FlagSyncService";

/** The same as the `sync_context` of every snapshot: Java and Python providers ask for it before each stream. */
const metadata = GetMetadataResponse.encode({ metadata: {} }).finish();

/** flagd.sync.v1, the protocol of stock flagd sidecars and in-process providers. */
export function flagdSyncService(flagSync: FlagSync): readonly Method[] {
  return [
    serverStreaming({
      maxMessageBytes: maxSelectingBytes,
      path: `${service}/SyncFlags`,
      decode: (bytes) => SyncFlagsRequest.decode(bytes),
      handle: flagSync.syncFlags({
        plain: (snapshot) => snapshot.syncFrame,
        gzip: (snapshot) => snapshot.gzipSyncFrame,
      }),
    }),
    sharedUnary({
      maxMessageBytes: maxSelectingBytes,
      path: `${service}/FetchAllFlags`,
      decode: (bytes) => FetchAllFlagsRequest.decode(bytes),
      handle: (request, call) => flagSync.fetchAllFlags(request, call),
    }),
    unary({
      maxMessageBytes: maxSelectingBytes,
      path: `${service}/GetMetadata`,
      decode: (bytes) => GetMetadataRequest.decode(bytes),
      handle: () => metadata,
      encode: (message) => message,
    }),
  ];
}
