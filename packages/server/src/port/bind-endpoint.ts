import type { Server } from "node:net";
import { describeBindError, type ListenEndpoint } from "./listen-endpoint.js";
import { bindWithMode, clearSocketPath, setOwnership } from "./unix-socket-file.js";

/** Backlog of connections that wait to be accepted: a reconnect storm must not be refused. */
const backlog = 4_096;

/**
 * Makes the server listen. Rejects with an Error whose message tells the user what is wrong and what to do; its cause is the
 * system's error.
 *
 * @param optionName the option that sets the endpoint
 */
export async function bindEndpoint(
  server: Server,
  endpoint: ListenEndpoint,
  optionName: string | undefined,
): Promise<void> {
  try {
    if ("socketPath" in endpoint) {
      const { socketPath, mode } = endpoint;
      await clearSocketPath(socketPath);
      await bindWithMode(mode, () => listen(server, { path: socketPath }));
      await setOwnership(endpoint);
    } else await listen(server, { port: endpoint.port, host: endpoint.host });
  } catch (cause) {
    throw new Error(describeBindError(cause, endpoint, optionName), { cause });
  }
}

function listen(
  server: Server,
  where: { readonly path: string } | { readonly port: number; readonly host: string | undefined },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...where, backlog }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
