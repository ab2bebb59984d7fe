import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import { KubeError, type KubeObject } from "@bunting/kube";
import { errorCode, messageOf, withTimeLimit } from "@bunting/runtime/options";
import { clusterTypes } from "../operator/operator-names.js";
import type { ClusterReader } from "../operator/cluster-reader.js";

/** Whom API servers call, and by what they verify that one. */
export interface WebhookClient {
  readonly service?: { readonly namespace: string; readonly name: string };
  /** PEM, in base64. */
  readonly caBundle?: string;
}

interface PodOfService {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

const timeoutMs = 5_000;

/**
 * Why API servers do not accept the certificate of a Pod that a webhook leads to. Undefined if they do, or if no Pod can be asked: that operators run,
 * other checks say.
 */
export async function refusedCertificate(
  { service, caBundle = "" }: WebhookClient,
  reader: ClusterReader,
): Promise<string | undefined> {
  if (service === undefined) return undefined;
  const { namespace, name } = service;
  try {
    const target = await podOf(namespace, name, reader);
    if (target === undefined) return undefined;
    const reason = await withTimeLimit(reader.signal, timeoutMs, async (limit) =>
      verifyError(
        await reader.dialPod(target, limit),
        {
          bundle: Buffer.from(caBundle, "base64").toString("latin1"),
          serverName: `${name}.${namespace}.svc`,
        },
        limit,
      ),
    );
    return reason === undefined ? undefined : `Pod ${namespace}/${target.pod}: ${reason}`;
  } catch (error) {
    reader.signal.throwIfAborted();
    if (
      error instanceof KubeError ||
      errorCode(error) !== undefined ||
      (error as Error).name === "AbortError"
    )
      return undefined;
    throw error;
  }
}

/** A ready Pod behind a Service, with the port that it leads to. */
async function podOf(
  namespace: string,
  name: string,
  { client, signal }: ClusterReader,
): Promise<PodOfService | undefined> {
  const scope = { type: clusterTypes.endpointSlice, namespace };
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const { items } = await client.list(scope, { labelSelector }, signal);
  const [found] = (items as readonly EndpointSlice[]).flatMap(({ endpoints, ports }) =>
    (endpoints ?? []).flatMap(({ conditions, targetRef }) => {
      const [port] = ports ?? [];
      const isAsked = conditions?.ready === true && targetRef?.kind === "Pod" && port?.port !== undefined;
      return isAsked ? [{ namespace, pod: targetRef.name, port: port.port }] : [];
    }),
  );
  return found;
}

interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly {
    readonly conditions?: { readonly ready?: boolean };
    readonly targetRef?: { readonly kind?: string; readonly name: string };
  }[];
  readonly ports?: readonly { readonly port?: number }[];
}

/** Why the certificate of a server does not hold by these authorities, if so. Rejects if there is no TLS, or none before the abort. */
export function verifyError(
  connection: Duplex,
  { bundle, serverName }: { readonly bundle: string; readonly serverName: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise<string | undefined>((resolve, reject) => {
    const socket = connect({
      socket: connection,
      ca: bundle,
      servername: serverName,
      // The handshake goes on with a wrong certificate, so that the reason is known. Nothing is sent after it.
      rejectUnauthorized: false,
    });
    signal.addEventListener("abort", () => socket.destroy(), { once: true });
    if (signal.aborted) socket.destroy();
    socket.once("error", reject);
    socket.once("close", () =>
      reject(Object.assign(new Error("the connection ended"), { code: "ECONNRESET" })),
    );
    socket.once("secureConnect", () => {
      const { authorized, authorizationError } = socket;
      // The type says `Error`, and mostly it is the code of one.
      resolve(authorized ? undefined : messageOf(authorizationError));
      socket.destroy();
    });
  }).finally(() => connection.destroy());
}
