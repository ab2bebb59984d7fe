import type { TopicKey } from "@bunting/protocol";
import { cut } from "@bunting/runtime/options";
import {
  decodeSyncResponse,
  encodeHello,
  syncPath,
  TopicReplica,
  versionFields,
  type SyncResponse,
  type VersionMessage,
} from "@bunting/sync-client/messages";
import { printableLine } from "../terminal/escaped-controls.js";
import { version } from "../version.js";
import type { SessionCallEnd, GrpcSession } from "./grpc-session.js";
import type { TopicCopy } from "./topic-copy.js";
import { noDocument, type TopicListener } from "./topic-listener.js";

/** Follows a topic on one stream of bunting.sync.v1, as an agent does. Resolves with how the stream ended. */
export function followBunting(
  session: GrpcSession,
  topic: TopicKey,
  copy: TopicCopy,
  listener: TopicListener,
): Promise<SessionCallEnd> {
  return new Promise((resolve) => {
    const replica = new TopicReplica(topic, copy);
    let received = 0;
    /** Of the topic, after which the stream is ended from here. */
    let refusal: SessionCallEnd | undefined;
    const takeVersion = (message: VersionMessage): void => {
      const { answer, outcome } = replica.take(message, received);
      call.send(answer);
      if ("refusal" in outcome) listener.refused(noDocument(outcome.refusal));
      if (!("rejectedFlags" in outcome) || copy.current === undefined) return;
      const { served, version: current } = copy.current;
      const digest = current.digest.toString("hex");
      listener.version({ document: served, digest, ...versionFields(current) });
    };
    const take = (message: SyncResponse): void => {
      if ("version" in message) takeVersion(message);
      switch (message.kind) {
        case "missing":
          listener.missing();
          return;
        case "deleted":
          listener.deleted(message.policy);
          return;
        case "topic_error":
          refusal = { status: message.code, message: printableLine(cut(message.message)) };
          listener.refused(refusal.message);
          call.cancel();
          return;
        default:
      }
    };
    const call = session.call(
      syncPath,
      {},
      {
        opened: () => listener.opened("bunting.sync.v1"),
        message: (bytes) => {
          received++;
          take(decodeSyncResponse(bytes));
        },
        ended: (end) => resolve(refusal ?? end),
      },
    );
    call.send(encodeHello({ agent: `bunting-cli/${version}`, providerId: "" }));
    call.send(replica.subscribeMessage());
  });
}
