import type { Duplex } from "node:stream";
import { cut, errorCode, withTimeLimit } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import { printableLine } from "../terminal/escaped-controls.js";
import { requestText } from "../sync/request-text.js";
import { connectionError, type SyncServer } from "../sync/server.js";

/** A proxy that is asked for its status. */
export interface StatusServer {
  /** What messages call it. */
  readonly name: string;
  readonly server: SyncServer;
  /** Opens the connection in another way than by the address. */
  readonly dial?: (signal: AbortSignal) => Promise<Duplex>;
}

/** What the status of a proxy has, and that of an agent. */
type StatusOf = "topics" | "sources";

/**
 * The status of a proxy, or of an agent: an object with a list of topics, or of sources, in which a server may have anything else.
 *
 * @throws CliError SERVER_UNREACHABLE or SERVER_REFUSED; KubeError if it can't be reached through its cluster
 */
export async function fetchStatus(
  { name, server, dial }: StatusServer,
  timeoutMs: number,
  signal: AbortSignal,
  of: StatusOf = "topics",
): Promise<object> {
  return withTimeLimit(signal, timeoutMs, async (limit) => {
    const connection = await dial?.(limit);
    try {
      const { status, body } = await requestText(server, { path: "/status", connection }, limit);
      if (status === 200) return parsed(name, body, of);
      // 426 and 505: ports of gRPC want HTTP/2.
      if ([404, 426, 505].includes(status)) throw noStatus(name, `it answered ${status}`, of);
      throw new CliError(
        "SERVER_REFUSED",
        `${name} answered ${status}: ${printableLine(cut(body.trim(), 300))}`,
      );
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof CliError) throw cause;
      if (errorCode(cause)?.startsWith("HPE_") === true) throw noStatus(name, "its answer is not HTTP", of);
      const reason = limit.aborted
        ? `no answer came within ${timeoutMs / 1_000} s`
        : connectionError(cause as Error, server);
      const sentence = reason.endsWith("?") ? reason : `${reason}.`;
      const message = `${name} can't be reached: ${sentence} Forward its management port, or name it with --address`;
      throw new CliError("SERVER_UNREACHABLE", message, { cause });
    } finally {
      connection?.destroy();
    }
  });
}

function parsed(name: string, body: string, of: StatusOf): object {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    value = undefined;
  }
  const hasList = (part: StatusOf): boolean =>
    Array.isArray((value as Partial<Record<StatusOf, unknown>> | null | undefined)?.[part]);
  if (hasList(of)) return value as object;
  const other = of === "topics" ? "sources" : "topics";
  throw noStatus(name, hasList(other) ? `it is ${whose[other].owner}'s` : "its answer is something else", of);
}

const whose: Readonly<Record<StatusOf, { readonly owner: string; readonly port: string }>> = {
  topics: { owner: "a proxy", port: "a bunting-proxy, 8016 by default" },
  sources: { owner: "an agent", port: "a bunting-agent, 8014 by default" },
};

function noStatus(name: string, reason: string, of: StatusOf): CliError {
  const { owner, port } = whose[of];
  const sources = of === "topics" ? ". How the sources of an agent are, its /readyz says, on port 8014" : "";
  const message = `${name} has no status of ${owner}: ${reason}. Name the management port of ${port}${sources}`;
  return new CliError("SERVER_REFUSED", message);
}
