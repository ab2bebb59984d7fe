import { request, Agent } from "node:http";
import type { Duplex } from "node:stream";
import { boundedBytes, responseTo } from "@bunting/protocol";
import { addressText } from "./server-address.js";
import { authorizationFor, openConnection, type SyncServer } from "./server.js";

/** Some hundred bytes for each of 10,000 topics of a status are a few megabytes. */
const maxBytes = 16 * 1024 * 1024;

export interface TextRequest {
  readonly path: string;
  /** JSON; absent: a GET. */
  readonly body?: string;
  /** A connection that is open already, such as through a port-forward. */
  readonly connection?: Duplex | undefined;
}

/** The answer of a server over HTTP/1.1, whatever it is. */
export async function requestText(
  server: SyncServer,
  { path, body, connection }: TextRequest,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: string }> {
  // The management port of a proxy answers to loopback only, by the name that was asked for too.
  const isLocal = connection !== undefined || "socketPath" in server.address;
  const host = isLocal ? "localhost" : addressText(server.address);
  const call = request({
    agent: new ServerAgent(server, connection),
    method: body === undefined ? "GET" : "POST",
    path,
    signal,
    headers: {
      host,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...authorizationFor(server),
    },
  });
  const answered = responseTo(call);
  call.end(body);
  const response = await answered;
  const bytes = await boundedBytes(response, maxBytes);
  if (bytes === undefined) throw new Error(`the answer is larger than ${maxBytes} bytes`);
  return { status: response.statusCode ?? 0, body: bytes.toString() };
}

/** Makes the connections of node:http to one server, with its TLS, or uses one that is open already. */
class ServerAgent extends Agent {
  readonly #server: SyncServer;
  readonly #dialled: Duplex | undefined;

  constructor(server: SyncServer, dialled?: Duplex) {
    super();
    this.#server = server;
    this.#dialled = dialled;
  }

  override createConnection(): Duplex {
    return openConnection(this.#server, "http/1.1", this.#dialled);
  }
}
