import { sameEndpoint, type ListenEndpoint } from "@bunting/server";
import { AgentError } from "./agent-error.js";
import type { AgentOptions } from "./options.js";

export interface NamedEndpoint {
  readonly endpoint: ListenEndpoint;
  /** The option that chose it, for the message about a port or path that can't be used. */
  readonly optionName: string;
}

/**
 * Where the agent listens. A socket path replaces the TCP port.
 *
 * @throws AgentError OPTION_INVALID if two of them are the same.
 */
export function endpoints(options: AgentOptions): {
  readonly evaluationEndpoint: NamedEndpoint;
  readonly syncEndpoint: NamedEndpoint;
  readonly ofrepEndpoint: NamedEndpoint;
  readonly managementEndpoint: NamedEndpoint;
} {
  const tcp = (port: number, optionName: string): NamedEndpoint => ({
    endpoint: options.host === "" ? { port } : { port, host: options.host },
    optionName,
  });
  const socket = (socketPath: string, optionName: string): NamedEndpoint => ({
    endpoint: { socketPath, mode: options.socketMode, uid: options.socketUid, gid: options.socketGid },
    optionName,
  });
  const named = {
    evaluationEndpoint:
      options.socketPath === "" ? tcp(options.port, "--port") : socket(options.socketPath, "--socket-path"),
    syncEndpoint:
      options.syncSocketPath === ""
        ? tcp(options.syncPort, "--sync-port")
        : socket(options.syncSocketPath, "--sync-socket-path"),
    ofrepEndpoint: tcp(options.ofrepPort, "--ofrep-port"),
    managementEndpoint: tcp(options.managementPort, "--management-port"),
  };
  const conflict = sameEndpoint(Object.values(named));
  if (conflict !== undefined) throw AgentError.optionInvalid(conflict);
  return named;
}
