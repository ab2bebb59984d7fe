import { legacySyncV1, syncV1 } from "@bunting/protocol";
import { serverStreaming, sharedUnary, unary, type Method } from "@bunting/rpc";
import {
  maxSelectingBytes,
  type FlagSync,
  type SelectingRequest,
  type SnapshotFrames,
} from "../flag-sync.js";

const { GetMetadataRequest, GetMetadataResponse } = syncV1;
const service = "/flagd.sync.v1.FlagSyncService";

/** The same as the `sync_context` of every snapshot: Java and Python providers ask for it before each stream. */
const metadata = GetMetadataResponse.encode({ metadata: {} }).finish();

/** flagd.sync.v1, the protocol of stock flagd sidecars and in-process providers. */
export function flagdSyncService(flagSync: FlagSync): readonly Method[] {
  return [
    ...selectingMethods(service, syncV1, flagSync, {
      plain: (snapshot) => snapshot.syncFrame,
      gzip: (snapshot) => snapshot.gzipSyncFrame,
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

/** sync.v1, the protocol of flagd sidecars before v0.9. */
export function legacySyncService(flagSync: FlagSync): readonly Method[] {
  return selectingMethods("/sync.v1.FlagSyncService", legacySyncV1, flagSync, {
    plain: (snapshot) => snapshot.legacySyncFrame,
    gzip: (snapshot) => snapshot.gzipLegacySyncFrame,
  });
}

interface Message {
  decode(bytes: Uint8Array): SelectingRequest;
}

/** The methods whose request names a topic. */
function selectingMethods(
  path: string,
  {
    SyncFlagsRequest,
    FetchAllFlagsRequest,
  }: Readonly<Record<"SyncFlagsRequest" | "FetchAllFlagsRequest", Message>>,
  flagSync: FlagSync,
  frames: SnapshotFrames,
): readonly Method[] {
  return [
    serverStreaming({
      maxMessageBytes: maxSelectingBytes,
      path: `${path}/SyncFlags`,
      decode: (bytes) => SyncFlagsRequest.decode(bytes),
      handle: flagSync.syncFlags(frames),
    }),
    sharedUnary({
      maxMessageBytes: maxSelectingBytes,
      path: `${path}/FetchAllFlags`,
      decode: (bytes) => FetchAllFlagsRequest.decode(bytes),
      handle: (request, call) => flagSync.fetchAllFlags(request, call),
    }),
  ];
}
