import { KubeError } from "@bunting/kube";
import { errorCode, withTimeLimit } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import { requestText } from "../sync/request-text.js";
import { printableLine } from "../terminal/escaped-controls.js";
import type { ClusterReader } from "./cluster-reader.js";
import type { NamedAddress } from "./object-address.js";
import { optionOf, type ShownContainer } from "./shown-pod.js";

const usualManagementPort = 8014;
const timeoutMs = 5_000;

/**
 * What a sidecar says of its sources. Only the sidecar knows: one that reaches no proxy is nobody's subscriber, and stays ready.
 *
 * - told: lines of its own, the first of them whether it is current.
 * - silent: it was not asked, or did not answer, or is a flagd, which tells nothing.
 */
export type SidecarAccount =
  | { readonly kind: "told"; readonly isCurrent: boolean; readonly lines: readonly string[] }
  | { readonly kind: "silent"; readonly message: string };

/** Asks the sidecar of a Pod through a port-forward, for which its user may lack the right. */
export async function askSidecar(
  { namespace, name }: NamedAddress,
  sidecar: ShownContainer,
  reader: ClusterReader,
): Promise<SidecarAccount> {
  const port = managementPort(sidecar);
  try {
    return await withTimeLimit(reader.signal, timeoutMs, async (limit) => {
      const connection = await reader.dialPod({ namespace, pod: name, port }, limit);
      try {
        const server = { address: { host: "localhost", port } };
        const { body } = await requestText(server, { path: "/readyz", connection }, limit);
        return sidecarAccount(body);
      } finally {
        connection.destroy();
      }
    });
  } catch (error) {
    reader.signal.throwIfAborted();
    const isExplained = error instanceof KubeError || error instanceof CliError;
    if (!isExplained && errorCode(error) === undefined && (error as Error).name !== "AbortError") throw error;
    return {
      kind: "silent",
      message: `what it knows of its sources can't be asked: ${printableLine(reasonOf(error as Error))}`,
    };
  }
}

/** The body of an agent's `/readyz`; that of a flagd is empty. */
export function sidecarAccount(body: string): SidecarAccount {
  const lines = body
    .split("\n")
    .map((line) => printableLine(line.trim()))
    .filter((line) => line !== "");
  const [first] = lines;
  if (first === undefined) return { kind: "silent", message: "it tells nothing of its sources" };
  return { kind: "told", isCurrent: first === "ready", lines };
}

/** The first line about a source that is not well, or else about the first one. */
export function worstSource(account: SidecarAccount): string | undefined {
  const sources = account.kind === "told" ? account.lines.slice(1) : [];
  return sources.find((line) => !line.includes(": connected")) ?? sources[0];
}

/**
 * What to do about a source, by what the agent says of it. Only where there is no connection is it a matter of the network: an agent that is refused, or
 * finds another certificate, has reached the server.
 */
export function sourceAdvice(line: string): string {
  const [, cause = "unreachable"] = /: (unreachable|refused|misconfigured|invalid): /.exec(line) ?? [];
  if (cause === "refused")
    return "mend its credentials, or what they may read (docs/troubleshoot/refused.md)";
  const isNetwork = cause === "unreachable" && !/: connected|certificate|TLS|Name resolution/.test(line);
  return !isNetwork
    ? "mend what that line says (docs/troubleshoot/stale.md)"
    : "look for a NetworkPolicy or a firewall between this Pod and the proxy; a new Pod asks anew";
}

/** As the operator writes it into arguments. */
export function managementPort(sidecar: ShownContainer): number {
  const port = Number(optionOf(sidecar, "--management-port"));
  return Number.isInteger(port) ? port : usualManagementPort;
}

function reasonOf({ name, message }: Error): string {
  return name === "AbortError" ? `no answer came within ${timeoutMs / 1_000} s` : message;
}
