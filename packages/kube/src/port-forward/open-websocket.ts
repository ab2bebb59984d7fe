import { createHash, randomBytes } from "node:crypto";
import { request as requestPlain, type ClientRequest, type IncomingMessage } from "node:http";
import { request as requestSecure } from "node:https";
import type { Duplex } from "node:stream";
import { systemClock } from "@bunting/runtime";
import type { ClusterConfig } from "../config/cluster-config.js";
import { KubeError } from "../kube-error.js";
import { readBeginning } from "../rest/read-body.js";
import { maxErrorBytes, statusError } from "../rest/status-error.js";
import { abortedError, kubeErrorOf } from "../transport/foreign-error.js";
import { SecureDial } from "../transport/secure-dial.js";

const errorBodyMs = 5_000;
/** The GUID of RFC 6455: with it the server proves that it has understood the upgrade. */
const acceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** An upgraded connection, and what arrived with the answer. */
export interface OpenWebSocket {
  readonly socket: Duplex;
  readonly head: Buffer;
}

/**
 * Opens a WebSocket at the API server, over HTTP/1.1.
 *
 * @param path encoded, with the query
 * @throws KubeError
 */
export async function openWebSocket(
  config: ClusterConfig,
  path: string,
  protocol: string,
  signal: AbortSignal,
): Promise<OpenWebSocket> {
  const { server, tls, credentials } = config;
  const key = randomBytes(16).toString("base64");
  const headers = {
    ...(await credentials.headers()),
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": key,
    "sec-websocket-protocol": protocol,
  };
  const target = { method: "GET", path: `${server.pathname.replace(/\/$/, "")}${path}`, headers, signal };
  const call =
    server.protocol === "https:"
      ? requestSecure({ ...(await new SecureDial(server, tls).options()), ...target, agent: false })
      : requestPlain(server, { ...target, agent: false });
  try {
    const { response, socket, head } = await answerOf(call);
    if (socket === undefined) throw await refusalOf(response);
    const expected = createHash("sha1").update(`${key}${acceptSuffix}`).digest("base64");
    if (
      response.headers["sec-websocket-accept"] === expected &&
      response.headers["sec-websocket-protocol"] === protocol
    )
      return { socket, head };
    socket.destroy();
    throw new KubeError("PROTOCOL", `${server.host} answered ${path} with an upgrade that was not asked for`);
  } catch (error) {
    call.destroy();
    throw signal.aborted ? abortedError(signal.reason) : kubeErrorOf(error, server.host);
  }
}

interface Answer {
  readonly response: IncomingMessage;
  /** Of an upgrade. */
  readonly socket: Duplex | undefined;
  readonly head: Buffer;
}

function answerOf(call: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    call.on("error", reject);
    call.on("upgrade", (response, socket, head) => resolve({ response, socket, head }));
    call.on("response", (response) => resolve({ response, socket: undefined, head: Buffer.alloc(0) }));
    call.end();
  });
}

async function refusalOf(response: IncomingMessage): Promise<KubeError> {
  const { statusCode = 0, headers } = response;
  const body = await readBeginning(response, {
    maxBytes: maxErrorBytes,
    withinMs: errorBodyMs,
    clock: systemClock,
  });
  return statusError({ status: statusCode, headers, body }, systemClock.now());
}
