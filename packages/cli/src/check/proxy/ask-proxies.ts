import { KubeError } from "@bunting/kube";
import { CliError } from "../../cli-error.js";
import { asProxyStatus, type ReportedStatus } from "../../status/proxy-status.js";
import { fetchStatus, type StatusServer } from "../../status/read-status.js";
import { addressText, parseServerAddress, usualSyncPort } from "../../sync/server-address.js";
import { serverAt } from "../../sync/server.js";
import type { Io } from "../../terminal/io.js";
import type { ClusterCheckOptions } from "../check-options.js";
import type { ProbedServer } from "./probe-sync.js";

const usualManagementPort = 8016;
const plaintext = { tls: false, caFile: "", tlsServerName: "", tokenFile: "" } as const;

/** A proxy, and what came of asking it for its status. */
export interface AskedProxy {
  readonly name: string;
  readonly answer:
    | { readonly kind: "status"; readonly status: ReportedStatus }
    | { readonly kind: "unreachable"; readonly message: string }
    /** The proxy answers, and refuses its status to this caller. */
    | { readonly kind: "unreadable"; readonly message: string };
  /** Its sync port; undefined if nobody said where it is. */
  readonly sync: ProbedServer | undefined;
}

/** None: no Pod of a proxy runs in the namespace. */
export type AskedProxies = readonly AskedProxy[];

/**
 * Asks the proxy of `--proxy`, or else every Pod of the proxy in the namespace.
 *
 * @throws CliError USAGE_INVALID, SERVER_REFUSED; KubeError
 */
export async function askProxies(options: ClusterCheckOptions, io: Io): Promise<AskedProxies> {
  const found = options.proxy === "" ? await proxiesOfCluster(options, io) : [namedProxy(options)];
  return Promise.all(
    found.map(async ({ status, sync }) => ({
      name: status.name,
      answer: await answerOf(status, options.timeout, io.signal),
      sync,
    })),
  );
}

interface FoundProxy {
  readonly status: StatusServer;
  readonly sync: ProbedServer | undefined;
}

function namedProxy(options: ClusterCheckOptions): FoundProxy {
  const management = parseServerAddress(options.proxy, usualManagementPort);
  const name = addressText(management);
  const status = { name, server: serverAt(management, options.managementTls ? options : plaintext) };
  if (options.sync === "" && "socketPath" in management) return { status, sync: undefined };
  const address =
    options.sync === "" && "host" in management
      ? { host: management.host, port: usualSyncPort }
      : parseServerAddress(options.sync, usualSyncPort);
  return { status, sync: { server: serverAt(address, options) } };
}

async function proxiesOfCluster(options: ClusterCheckOptions, io: Io): Promise<readonly FoundProxy[]> {
  const { podServers } = await import("../../status/pod-servers.js");
  const selection = { ...options, ...(options.managementTls ? {} : plaintext) };
  const pods = await podServers(selection, io).catch((error: unknown) => {
    if (error instanceof CliError && error.code === "PROXY_UNKNOWN") return [];
    throw error;
  });
  const server = serverAt({ host: "localhost", port: options.syncPodPort }, options);
  return pods.map((pod) => ({
    status: pod,
    sync: { server, dial: (signal) => pod.dialPort(options.syncPodPort, signal) },
  }));
}

async function answerOf(
  server: StatusServer,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<AskedProxy["answer"]> {
  try {
    return { kind: "status", status: asProxyStatus(await fetchStatus(server, timeoutMs, signal)) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CliError || error instanceof KubeError)) throw error;
    const { message } = error;
    return { kind: error.code === "SERVER_REFUSED" ? "unreadable" : "unreachable", message };
  }
}
