import type { CallCounts, GrpcServer, Method } from "@bunting/rpc";
import { RateLimitedLog, type Context } from "@bunting/runtime";
import {
  defaultPeerMemoryBytes,
  type PeerMemory,
  type PortListenerOptions,
  refusals,
  type DropReason,
} from "@bunting/server";
import type { ApiMetrics } from "../api/api-metrics.js";
import { countReleased } from "../v8/collect-released.js";
import type { AgentWiring } from "./agent-wiring.js";

/** What all ports have in common. */
export interface PortLimits {
  /** Of the ports that applications call. */
  readonly memory: PeerMemory;
  readonly listening: Pick<
    PortListenerOptions,
    "logger" | "limits" | "onDropped" | "onRefused" | "onReadingResumed" | "onStreamLimit"
  >;
}

/** Bounds the memory of applications, and logs and counts each refusal. */
export function portLimits({ options, parts, context }: AgentWiring): PortLimits {
  // A quarter of the heap, which is small: the flags and the requests need the rest.
  const memory = new parts.PeerMemory(
    options.peerMemory === "auto" ? defaultPeerMemoryBytes(1 / 4) : options.peerMemory,
    "idle",
  );
  context.metrics.peerMemory(() => memory);
  memory.onReleased(countReleased);
  return {
    memory,
    listening: {
      logger: context.logger,
      limits: {
        maxHeaderBytes: options.maxRequestHeader === 0 ? 1024 * 1024 : options.maxRequestHeader,
        // Clients queue further requests. One that may open more would be ended for a burst of ordinary ones.
        maxStreamsPerConnection: memory.streamsPerConnection,
      },
      ...limitReports(context),
      onReadingResumed: () => context.metrics.readingHeld(),
      onStreamLimit: () => context.metrics.streamLimitReached(),
    },
  };
}

/** The gRPC calls of a port. */
export function grpcCalls(
  { options, parts, context }: AgentWiring,
  methods: readonly Method[],
  counts?: CallCounts,
  malformed?: "connect-go",
): GrpcServer {
  const { maxRequestBody } = options;
  const maxMessageBytes = maxRequestBody === 0 ? Infinity : maxRequestBody;
  return new parts.GrpcServer({
    methods,
    logger: context.logger,
    clock: context.clock,
    counts,
    messages: { maxMessageBytes, ...(malformed && { malformed }) },
  });
}

const messages: Partial<Record<DropReason, string>> = {
  memory:
    "ended or refused a connection: applications hold as much memory as --peer-memory allows, or a few of them hold more than their share of it",
  headers: "refused a request, because its headers are larger than --max-request-header",
  unfinished_headers:
    "ended a connection over HTTP/2, because the headers of a request did not end within 10 s",
  tls: "ended a connection that has not become one with TLS, or must not (--server-cert-path)",
};

/** Counts the connections that limits end, and the requests that they refuse, and logs each reason at most once a minute. */
function limitReports({
  metrics,
  logger,
  clock,
}: Context<ApiMetrics>): Pick<PortListenerOptions, "onDropped" | "onRefused"> {
  const log = new RateLimitedLog(logger, clock);
  return {
    onDropped: (reason, detail) => {
      metrics.connectionEnded(reason);
      // That is ordinary: its client opens another when it has a request.
      if (reason === "idle") return;
      log.warn(`ended ${reason}`, { reason, detail }, messages[reason] ?? "ended a connection");
    },
    onRefused: (reason) => {
      metrics.requestRefused(reason);
      log.warn(`refused ${reason}`, { reason }, `refused a request: ${refusals[reason]}`);
    },
  };
}
