import { drainSessions, type PortListener } from "@bunting/server";
import { type TransportStream } from "@bunting/rpc";
import { nextTurn, within, type Component, type Logger } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";

/** How a port ends what clients have open. */
export interface StoppingSteps {
  /** Ends a stream of this port that would not end by itself, as unary calls do. */
  readonly drain?: (stream: TransportStream) => void;
  /** Ends the answers over HTTP that would not end by themselves; resolves when they have. */
  readonly drainHttp?: () => Promise<void>;
  /** How long clients that keep a connection over HTTP/1.1 open may still ask on it, and are told that it ends; default 0. */
  readonly lastCallMs?: number;
  /** Called when no connection is left, to stop the service behind the port. Earlier, its trailers would overtake the GOAWAY. */
  readonly onStopped?: () => void;
}

export interface ServingOptions {
  readonly name: string;
  readonly reason: string;
  readonly port: PortListener;
  readonly logger: Logger;
  readonly stopping?: StoppingSteps;
}

/** How long calls under way and last messages may take once the agent is stopping. */
const graceMs = 1_000;

/** A port of the agent. Stopping it sends clients a GOAWAY, ends their streams with UNAVAILABLE, and closes the connections that are left. */
export function servingComponent(options: ServingOptions): Component {
  const { name, reason, port, logger } = options;
  const { drain, drainHttp, lastCallMs, onStopped } = options.stopping ?? {};
  return {
    name,
    reason,
    start: async () => {
      await port.listen().catch((cause: unknown) => {
        throw new AgentError("BIND_FAILED", (cause as Error).message, { cause });
      });
      logger.info({ service: name, port: port.port }, "listening");
    },
    stop: async () => {
      // Connections that wait to be accepted would be reset, with their questions.
      for (let turn = 0; turn < 2; turn++) await nextTurn();
      const http = Promise.all([port.stopListening(lastCallMs), drainHttp?.()]);
      await Promise.all([
        drainSessions(port.sessions, { windowMs: 0, graceMs, onStream: (stream) => drain?.(stream) }),
        within(graceMs, http),
      ]);
      await port.close();
      onStopped?.();
    },
  };
}
