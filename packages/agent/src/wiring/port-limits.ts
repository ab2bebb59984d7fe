import type { CallCounts, GrpcServer, Method } from "@bunting/rpc";
import { defaultPeerMemoryBytes, type PeerMemory, type PortListenerOptions } from "@bunting/server";
import { endedConnections, refusedRequests } from "../management/report-limits.js";
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
      onDropped: endedConnections(context),
      onRefused: refusedRequests(context),
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
