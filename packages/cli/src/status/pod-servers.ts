import type { Duplex } from "node:stream";
import { KubeError, type KubeObject } from "@bunting/kube";
import { quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import { withCluster } from "../operator/cluster-reader.js";
import type { ConnectionOptions } from "../sync/connection-options.js";
import { serverAt } from "../sync/server.js";
import type { Io } from "../terminal/io.js";
import type { StatusServer } from "./read-status.js";

/** Where the Pods of proxies are. */
export interface PodSelection {
  readonly namespace: string;
  /** By labels. */
  readonly selector: string;
  readonly podPort: number;
  readonly kubeconfig: string;
  readonly kubeContext: string;
}

/** A Pod, of which any port can be reached. */
export interface PodServer extends StatusServer {
  readonly dialPort: (port: number, signal: AbortSignal) => Promise<Duplex>;
}

/**
 * The running Pods of a proxy, each reached by a port-forward.
 *
 * @throws CliError PROXY_UNKNOWN; KubeError
 */
export async function podServers(
  selection: PodSelection & ConnectionOptions,
  io: Io,
): Promise<readonly PodServer[]> {
  const { namespace, selector, podPort: port } = selection;
  const answered = withCluster(selection, io, async (reader) => {
    const type = { group: "", version: "v1", plural: "pods" };
    const { items } = await reader.client.list({ type, namespace }, { labelSelector: selector }, io.signal);
    const pods = items.filter(isRunning).map(({ metadata }) => metadata.name);
    if (pods.length === 0) {
      const message = `the namespace ${quoted(namespace)} has no running Pod with the labels ${quoted(selector)}: name others with --selector`;
      throw new CliError("PROXY_UNKNOWN", message);
    }
    const server = serverAt({ host: "localhost", port }, selection);
    return pods.sort().map((pod): PodServer => {
      const dialPort = (to: number, signal: AbortSignal): Promise<Duplex> =>
        reader.dialPod({ namespace, pod, port: to }, signal).catch((error: unknown) => {
          throw explained(error, namespace);
        });
      return { name: `${namespace}/${pod}`, server, dial: (signal) => dialPort(port, signal), dialPort };
    });
  });
  return answered.catch((error: unknown) => {
    throw explained(error, namespace);
  });
}

function isRunning({ metadata, status }: KubeObject): boolean {
  const phase = typeof status === "object" && status !== null && "phase" in status ? status.phase : undefined;
  return phase === "Running" && metadata["deletionTimestamp"] === undefined;
}

/** What the permission is for, beside the API server's words. */
function explained(error: unknown, namespace: string): unknown {
  if (!(error instanceof KubeError) || error.code !== "FORBIDDEN") return error;
  const message = `${error.message}. The command needs the verb list on pods, and get and create on pods/portforward, in the namespace ${namespace}`;
  return new CliError("SERVER_REFUSED", message, { cause: error });
}
