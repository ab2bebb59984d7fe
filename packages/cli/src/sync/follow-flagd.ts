import {
  normaliseDocument,
  syncV1,
  type FlagDocument,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";
import { grpcStatus, type SessionCallEnd, type GrpcSession } from "./grpc-session.js";
import { noDocument, type TopicListener } from "./topic-listener.js";

const path = "/flagd.sync.v1.FlagSyncService/SyncFlags";

/** Follows a topic on one stream of flagd.sync.v1, for flagd-proxy and other servers of that protocol. Resolves with how it ended. */
export function followFlagd(
  session: GrpcSession,
  topic: TopicKey,
  listener: TopicListener,
): Promise<SessionCallEnd> {
  return new Promise((resolve) => {
    const selector = `core.openfeature.dev/${topic}`;
    const call = session.call(
      path,
      { "flagd-selector": selector },
      {
        opened: () => listener.opened("flagd.sync.v1"),
        message: (bytes) => {
          const { flagConfiguration } = syncV1.SyncFlagsResponse.decode(bytes);
          let document: FlagDocument;
          try {
            ({ document } = normaliseDocument(JSON.parse(flagConfiguration) as JsonValue));
          } catch (error) {
            listener.refused(noDocument((error as Error).message));
            return;
          }
          listener.version({ document });
        },
        ended: (end) => {
          if (end.status === grpcStatus.notFound) listener.missing();
          resolve(end);
        },
      },
    );
    call.send(syncV1.SyncFlagsRequest.encode({ providerId: "bunting-cli", selector }).finish());
    call.finish();
  });
}
