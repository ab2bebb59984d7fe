import {
  defaultPeerMemoryBytes,
  refusals,
  type DropReason,
  type ListenEndpoint,
  type PeerMemory,
  type RefusalReason,
} from "@bunting/server";
import type { ProxyWiring } from "./proxy-wiring.js";

/** Least share of clients that bundle many streams into few connections, if the budget was set by an option. */
const minExcessBytes = 64 * 1024 * 1024;

/** Log messages by the reason for which the proxy ends a connection; peers can not cause other reasons at will. */
const endedMessages: Partial<Record<DropReason, string>> = {
  flood: "ended a connection that flooded the proxy with PING or SETTINGS frames",
  memory:
    "ended or refused a connection: clients hold as much memory as --peer-memory allows, or a few of them hold more than their share of it",
  settings: "ended a connection whose client has not acknowledged SETTINGS",
  stalled: "ended a connection whose peer does not read",
  unfinished_headers: "ended a connection, because the headers of a request did not end within 10 s",
};

/** Memory that clients of the sync port may make the proxy hold. */
export function syncLimits({ options, parts, context }: ProxyWiring): PeerMemory {
  const { peerMemory } = options;
  const memory =
    peerMemory === "auto"
      ? new parts.PeerMemory(defaultPeerMemoryBytes(1), "idle")
      : new parts.PeerMemory(
          peerMemory,
          "idle",
          Math.min(peerMemory / 2, Math.max(minExcessBytes, peerMemory / 4)),
        );
  context.metrics.peerMemory(() => memory);
  return memory;
}

/** Log lines and counts of a port that enforces its limits. */
export interface PortEvents {
  readonly onDropped: (reason: DropReason, detail?: string, peer?: string) => void;
  readonly onRefused: (reason: RefusalReason) => void;
}

export function portEvents({ context }: ProxyWiring): PortEvents {
  return {
    onDropped: (reason, detail, peer) => {
      context.metrics.connectionEnded(reason);
      if (detail !== undefined)
        context.log.warn(`connection ${reason} ${detail}`, { peer }, `ended a connection: ${detail}`);
      const message = endedMessages[reason];
      if (message !== undefined) context.log.warn(`connection ${reason}`, {}, message);
    },
    onRefused: (reason) => {
      context.metrics.requestRefused(reason);
      // Stalled streams have a line of their own.
      if (reason !== "stalled")
        context.log.warn(`refused ${reason}`, { reason }, `refused a request: ${refusals[reason]}`);
    },
  };
}

/** Address of a port. */
export function endpointOf(port: number, host: string): ListenEndpoint {
  return host === "" ? { port } : { port, host };
}
