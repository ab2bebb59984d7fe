import { connect, type ClientHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import { withTimeLimit } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import { kubeErrorOf } from "./foreign-error.js";
import { PooledSession } from "./pooled-session.js";
import type { SecureDial } from "./secure-dial.js";
import type { TransportContext } from "./transport-options.js";

const streamWindowBytes = 1024 * 1024;
const sessionWindowBytes = 16 * 1024 * 1024;
/** In MB. Node counts everything a session holds and refuses streams beyond it; its default of 10 is below our windows. */
const maxSessionMemory = 128;

/**
 * Connects, and waits for the server's settings. Undefined if the server speaks only HTTP/1.1.
 *
 * @throws KubeError, also for an abort.
 */
export async function openSession(
  server: URL,
  dial: SecureDial,
  context: TransportContext,
  signal: AbortSignal,
): Promise<PooledSession | undefined> {
  const { clock, timing } = context;
  const open = async (limit: AbortSignal): Promise<PooledSession | undefined> => {
    const socket = await dial.connect(["h2", "http/1.1"], limit);
    if (socket.alpnProtocol === "h2") return settled(server, socket, context, limit);
    socket.on("error", () => undefined).destroy();
    return undefined;
  };
  const message = `${context.server} did not answer within ${timing.connectTimeoutMs} ms`;
  const late = (): KubeError => new KubeError("TIMEOUT", message);
  try {
    return await withTimeLimit(signal, timing.connectTimeoutMs, open, { clock, late });
  } catch (error) {
    throw kubeErrorOf(error, context.server);
  }
}

function settled(
  server: URL,
  socket: TLSSocket,
  context: TransportContext,
  signal: AbortSignal,
): Promise<PooledSession> {
  const session: ClientHttp2Session = connect(server.origin, {
    createConnection: () => socket,
    maxSessionMemory,
    settings: { enablePush: false, initialWindowSize: streamWindowBytes },
  });
  const pooled = new PooledSession(session, socket, context);
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      signal.removeEventListener("abort", onAbort);
      session.off("error", onError);
      socket.off("error", onError).off("close", onClose);
      act();
    };
    const onError = (error: Error): void => {
      settle(() => reject(error));
      socket.destroy();
    };
    const onClose = (): void =>
      settle(() =>
        reject(
          new KubeError(
            "CONNECTION_LOST",
            `${context.server} closed the connection before it sent its HTTP/2 settings`,
          ),
        ),
      );
    const onAbort = (): void => {
      settle(() => reject(signal.reason as Error));
      session.destroy();
      socket.destroy();
    };
    session.on("error", () => undefined);
    socket.on("error", () => undefined);
    session.once("connect", () => session.setLocalWindowSize(sessionWindowBytes));
    session.once("remoteSettings", () =>
      settle(() => {
        pooled.start();
        resolve(pooled);
      }),
    );
    session.on("error", onError);
    // A TLS alert after the handshake (TLS 1.3: no client certificate) is emitted only by the socket: node's session destroys itself
    // without an event.
    socket.on("error", onError).once("close", onClose);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
