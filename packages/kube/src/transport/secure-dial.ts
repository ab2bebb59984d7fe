import { once } from "node:events";
import { isIP } from "node:net";
import { connect, createSecureContext, type ConnectionOptions, type TLSSocket } from "node:tls";
import { messageOf } from "@bunting/runtime";
import type { TlsMaterial, TlsMaterialSource } from "../config/cluster-config.js";
import { KubeError } from "../kube-error.js";

/** TLS connections to one server. Material that changed on disk applies to the next connection; open ones stay. */
export class SecureDial {
  readonly #server: URL;
  readonly #source: TlsMaterialSource;
  #material: TlsMaterial | undefined;
  #options: ConnectionOptions = {};

  constructor(server: URL, source: TlsMaterialSource) {
    this.#server = server;
    this.#source = source;
  }

  /** The same object as long as the material is the same. */
  async options(): Promise<ConnectionOptions> {
    const material = await this.#source.read();
    if (material !== this.#material) {
      this.#options = connectionOptions(this.#server, material);
      this.#material = material;
    }
    return this.#options;
  }

  /** Resolves once the handshake is done; the caller then owns the socket. Rejects with the signal's reason if that aborts. */
  async connect(alpn: readonly string[], signal: AbortSignal): Promise<TLSSocket> {
    const options = await this.options();
    signal.throwIfAborted();
    const socket = connect({ ...options, ALPNProtocols: [...alpn] });
    try {
      await once(socket, "secureConnect", { signal });
      return socket;
    } catch (error) {
      socket.on("error", () => undefined).destroy();
      signal.throwIfAborted();
      throw error;
    }
  }
}

function connectionOptions(server: URL, material: TlsMaterial): ConnectionOptions {
  const host = server.hostname.replace(/^\[(.*)\]$/, "$1");
  const { ca, cert, key, serverName, isUnverified } = material;
  // No name is sent for an IP address (RFC 6066); the certificate is then checked against the address.
  const name = serverName ?? (isIP(host) === 0 ? host : undefined);
  return {
    host,
    port: Number(server.port || 443),
    ...(name === undefined ? {} : { servername: name }),
    rejectUnauthorized: isUnverified !== true,
    secureContext: secureContext({ ca, cert, key }),
  };
}

function secureContext(
  parts: Partial<Record<"ca" | "cert" | "key", string | Buffer | undefined>>,
): ConnectionOptions["secureContext"] & object {
  try {
    return createSecureContext({ ...parts, minVersion: "TLSv1.2" });
  } catch (cause) {
    throw KubeError.configInvalid(
      `the TLS certificates for the API server can't be used (${messageOf(cause)}): they must be PEM, and the key must belong to the client certificate`,
      { cause },
    );
  }
}
