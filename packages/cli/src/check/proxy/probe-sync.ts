import type { Duplex } from "node:stream";
import { KubeError } from "@bunting/kube";
import { parseAnySelector } from "@bunting/protocol";
import { CliError } from "../../cli-error.js";
import { followBunting } from "../../sync/follow-bunting.js";
import { followFlagd } from "../../sync/follow-flagd.js";
import { grpcStatus, GrpcSession, type SessionCallEnd } from "../../sync/grpc-session.js";
import type { SyncServer } from "../../sync/server.js";
import { TopicCopy } from "../../sync/topic-copy.js";

/** A server of flags. */
export interface ProbedServer {
  readonly server: SyncServer;
  /** Opens the connection in another way than by the address. */
  readonly dial?: (signal: AbortSignal) => Promise<Duplex>;
}

/**
 * What a sync port does with a subscriber.
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
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), timeoutMs).unref();
  const limit = AbortSignal.any([signal, stop.signal]);
  try {
    const session = new GrpcSession(server, await dial?.(limit));
    return await outcomeOf(session, topic, limit, timeoutMs);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CliError || error instanceof KubeError)) throw error;
    return { kind: "lost", message: error.message };
  } finally {
    clearTimeout(timer);
  }
}

async function outcomeOf(
  session: GrpcSession,
  topic: string,
  limit: AbortSignal,
  timeoutMs: number,
): Promise<SyncOutcome> {
  const seen = { isServed: false };
  const served = (): void => {
    seen.isServed = true;
    session.close();
  };
  const close = (): void => session.close();
  limit.addEventListener("abort", close, { once: true });
  // It may have aborted before.
  if (limit.aborted) close();
  try {
    const listener = {
      opened: () => undefined,
      version: served,
      missing: served,
      deleted: served,
      refused: () => undefined,
    };
    const key = parseAnySelector(topic);
    const first = await followBunting(session, key, new TopicCopy(), listener);
    // A flagd-proxy has flagd.sync.v1 only.
    const isOther = first.status === grpcStatus.unimplemented;
    const end = isOther ? await followFlagd(session, key, listener) : first;
    if (seen.isServed) return { kind: "serves", message: "" };
    const silence = `no answer came within ${timeoutMs / 1_000} s`;
    return limit.aborted ? { kind: "lost", message: silence } : outcomeOfEnd(end);
  } finally {
    limit.removeEventListener("abort", close);
    session.close();
  }
}

function outcomeOfEnd({ status, message }: SessionCallEnd): SyncOutcome {
  switch (status) {
    case undefined:
      return { kind: "lost", message };
    case grpcStatus.unauthenticated:
      return { kind: "unauthenticated", message };
    // Who is asked for another's flags has accepted the caller.
    case grpcStatus.permissionDenied:
    case grpcStatus.notFound:
      return { kind: "serves", message };
    default:
      return { kind: "refuses", message };
  }
}
