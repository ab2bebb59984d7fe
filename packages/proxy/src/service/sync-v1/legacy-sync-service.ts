import { legacySyncV1 } from "@bunting/protocol";
import { serverStreaming, sharedUnary, type Method } from "@bunting/rpc";
import { maxSelectingBytes, type FlagSync } from "../flag-sync.js";

const { SyncFlagsRequest, FetchAllFlagsRequest } = legacySyncV1;
const service = "/sync.v1.FlagSyncService";

/** sync.v1, the protocol of flagd sidecars before v0.9. */
export function legacySyncService(flagSync: FlagSync): readonly Method[] {
  return [
    serverStreaming({
      maxMessageBytes: maxSelectingBytes,
      path: `${service}/SyncFlags`,
      decode: (bytes) => SyncFlagsRequest.decode(bytes),
      handle: flagSync.syncFlags({
        plain: (snapshot) => snapshot.legacySyncFrame,
        gzip: (snapshot) => snapshot.gzipLegacySyncFrame,
      }),
    }),
    sharedUnary({
      maxMessageBytes: maxSelectingBytes,
      path: `${service}/FetchAllFlags`,
      decode: (bytes) => FetchAllFlagsRequest.decode(bytes),
      handle: (request, call) => flagSync.fetchAllFlags(request, call),
    }),
  ];
}
