import { buntingSyncV1, type TopicKey } from "@bunting/protocol";
import { cut } from "@bunting/runtime/options";
import { printableLine } from "../terminal/escaped-controls.js";
import { version } from "../version.js";
import type { SessionCallEnd, GrpcSession } from "./grpc-session.js";
import type { TopicCopy } from "./topic-copy.js";
import { noDocument, type TopicListener } from "./topic-listener.js";

type Request = NonNullable<buntingSyncV1.SyncRequest["message"]>;
type Response = NonNullable<buntingSyncV1.SyncResponse["message"]>;

const path = "/bunting.sync.v1.SyncService/Sync";
/** By the number in the protocol. */
const policies = new Map<number, "keep" | "empty" | "close">([
  [1, "keep"],
  [2, "empty"],
  [3, "close"],
]);

/** Follows a topic on one stream of bunting.sync.v1, as an agent does. Resolves with how the stream ended. */
export function followBunting(
  session: GrpcSession,
  topic: TopicKey,
  copy: TopicCopy,
  listener: TopicListener,
): Promise<SessionCallEnd> {
  return new Promise((resolve) => {
    let received = 0;
    /** Of the topic, after which the stream is ended from here. */
    let refusal: SessionCallEnd | undefined;
    const send = (message: Request): void => {
      call.send(buntingSyncV1.SyncRequest.encode({ message }).finish());
    };
    const answer = (isHeld: boolean, reason: string, isDeltaMismatch = false): void => {
      const digest = copy.version?.digest ?? Buffer.alloc(0);
      const number = String(received);
      if (isHeld) send({ $case: "ack", value: { topic, number, digest, rejectedFlags: [] } });
      else send({ $case: "nack", value: { topic, number, heldDigest: digest, reason, isDeltaMismatch } });
    };
    const tell = (): void => {
      const { document } = copy;
      if (document === undefined) return;
      const { resourceVersion, generation, digest } = copy.version ?? {};
      listener.version({
        document,
        resourceVersion: resourceVersion === "" ? undefined : resourceVersion,
        generation: generation === undefined || generation === "0" ? undefined : Number(generation),
        digest: digest?.toString("hex"),
      });
    };
    const take = (message: Response): void => {
      switch (message.$case) {
        case "unchanged": {
          const isHeld = message.value.version !== undefined && copy.confirm(message.value.version);
          answer(isHeld, "this version is not held", true);
          if (isHeld) tell();
          return;
        }
        case "snapshot":
          try {
            copy.replace(message.value.document, message.value.version);
          } catch (error) {
            answer(false, (error as Error).message.slice(0, 500));
            listener.refused(noDocument(error));
            return;
          }
          answer(true, "");
          tell();
          return;
        case "delta": {
          const isHeld = copy.apply(message.value);
          answer(isHeld, "the delta does not lead to its digest", true);
          if (isHeld) tell();
          return;
        }
        case "missing":
          listener.missing();
          return;
        case "deleted":
          listener.deleted(policies.get(message.value.policy) ?? "keep");
          return;
        case "topicError":
          refusal = { status: message.value.code, message: printableLine(cut(message.value.message)) };
          listener.refused(refusal.message);
          call.cancel();
          return;
        default:
      }
    };
    const call = session.call(
      path,
      {},
      {
        opened: () => listener.opened("bunting.sync.v1"),
        message: (bytes) => {
          const { message } = buntingSyncV1.SyncResponse.decode(bytes);
          received++;
          if (message !== undefined) take(message);
        },
        ended: (end) => resolve(refusal ?? end),
      },
    );
    send({ $case: "hello", value: { agent: `bunting-cli/${version}`, providerId: "" } });
    send({ $case: "subscribe", value: { topic, held: copy.version } });
  });
}
