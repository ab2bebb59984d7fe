import type { Duplex } from "node:stream";
import type { TopicKey } from "@bunting/protocol";
import { followBunting } from "./follow-bunting.js";
import { followFlagd } from "./follow-flagd.js";
import { grpcStatus, GrpcSession, type SessionCallEnd } from "./grpc-session.js";
import type { SyncServer } from "./server.js";
import type { TopicCopy } from "./topic-copy.js";
import type { TopicListener } from "./topic-listener.js";

/**
 * Follows a topic over one connection, by bunting.sync.v1 where the server has it, until the stream ends or the signal aborts.
 *
 * @param dialled a connection that is open already, such as through a port-forward
 */
export async function followTopic(
  server: SyncServer,
  topic: TopicKey,
  copy: TopicCopy,
  listener: TopicListener,
  signal: AbortSignal,
  dialled?: Duplex,
): Promise<SessionCallEnd> {
  const session = new GrpcSession(server, dialled);
  const close = (): void => session.close();
  signal.addEventListener("abort", close, { once: true });
  // It may have aborted before, such as while the connection was opened.
  if (signal.aborted) close();
  try {
    const end = await followBunting(session, topic, copy, listener);
    return end.status === grpcStatus.unimplemented ? await followFlagd(session, topic, listener) : end;
  } finally {
    signal.removeEventListener("abort", close);
    session.close();
  }
}
