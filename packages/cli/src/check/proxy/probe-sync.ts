import type { Duplex } from "node:stream";
import { KubeError } from "@bunting/kube";
import { parseAnySelector } from "@bunting/protocol";
import { withTimeLimit } from "@bunting/runtime/options";
import { CliError } from "../../cli-error.js";
import { followTopic } from "../../sync/follow-topic.js";
import { grpcStatus, type SessionCallEnd } from "../../sync/grpc-session.js";
import type { SyncServer } from "../../sync/server.js";
import { TopicCopy } from "../../sync/topic-copy.js";

/** A server of flags. */
export interface ProbedServer {
  readonly server: SyncServer;
  /** Opens the connection in another way than by the address. */
  readonly dial?: (signal: AbortSignal) => Promise<Duplex>;
}

/**
 * Answer of a sync port to a subscriber.
 *
 * - serves: it accepts the caller; whether that one may read the FeatureFlag does not matter.
 * - unauthenticated: it does not accept the token, or wants one.
 * - lost: there was no connection, or no TLS.
 * - refuses: it speaks, and serves no flags.
 */
export interface SyncOutcome {
  readonly kind: "serves" | "unauthenticated" | "lost" | "refuses";
  readonly message: string;
}

/** Subscribes as an agent does, and goes with the first answer. */
export async function probeSync(
  { server, dial }: ProbedServer,
  topic: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<SyncOutcome> {
  const answered = new AbortController();
  const served = (): void => answered.abort();
  const listener = {
    opened: () => undefined,
    version: served,
    missing: served,
    deleted: served,
    refused: () => undefined,
  };
  try {
    return await withTimeLimit(signal, timeoutMs, async (limit) => {
      const stop = AbortSignal.any([limit, answered.signal]);
      const dialled = await dial?.(limit);
      const key = parseAnySelector(topic);
      const end = await followTopic(server, key, new TopicCopy(), listener, stop, dialled);
      if (answered.signal.aborted) return { kind: "serves", message: "" };
      const silence = `no answer came within ${timeoutMs / 1_000} s`;
      return limit.aborted ? { kind: "lost", message: silence } : outcomeOfEnd(end);
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CliError || error instanceof KubeError)) throw error;
    return { kind: "lost", message: error.message };
  }
}

function outcomeOfEnd({ status, message }: SessionCallEnd): SyncOutcome {
  switch (status) {
    case undefined:
      return { kind: "lost", message };
    case grpcStatus.unauthenticated:
      return { kind: "unauthenticated", message };
    // The caller is accepted, whatever it may read.
    case grpcStatus.permissionDenied:
    case grpcStatus.notFound:
      return { kind: "serves", message };
    default:
      return { kind: "refuses", message };
  }
}
