import { nextTurn } from "@bunting/runtime";
import type { Socket } from "node:net";
import {
  ChannelCredentials,
  Client,
  connectivityState,
  credentials,
  logVerbosity,
  setLogVerbosity,
  type ChannelOptions,
} from "@grpc/grpc-js";
import { guardGrpcClients } from "./guard/guard-grpc-clients.js";

// For all clients of grpc-js, before the first of them connects.
guardGrpcClients();

// grpc-js writes errors to stderr, between the lines of the log, that it also reports as the status of a call.
if (process.env["GRPC_VERBOSITY"] === undefined) setLogVerbosity(logVerbosity.NONE);

/** Enough for the first messages of a stream, which grpc-js sends again if the connection turns out to be closing. */
const retryBufferBytes = 16 * 1024;

/** As an address comes out that was written as `[$(HOST_IP)]:8015`, for both families: grpc-go takes it, grpc-js does not. */
const bracketedV4 = /\[(\d+(?:\.\d+){3})\](?=(?::\d+)?$)/;

/** Size of a message beyond its document, in bytes. */
const contextBytes = 64 * 1_024;

const channelIsClosed = "the channel is closed";

type SecureConnector = ReturnType<ChannelCredentials["_createSecureConnector"]>;

/**
 * A grpc-js client whose sockets are destroyed on close.
 *
 * grpc-js neither gives up nor closes a connection that was accepted but whose server never spoke HTTP/2, and closing a channel waits for
 * calls in progress. So the sockets are recorded as they open (credentials see each of them) and destroyed on close.
 *
 * The reconnection of grpc-js is not used: after a failed attempt use a new SyncChannel, which resolves the name and connects at once.
 * grpc-js would resolve names at most every 30 s. It would also connect once more, though the channel has been closed: its timer after a
 * failed attempt goes on, so the credentials stop that attempt.
 */
export class SyncChannel {
  readonly client: Client;
  readonly #credentials: TrackingCredentials;

  /**
   * @param transport credentials of the connection: plaintext or TLS
   * @throws Error if grpc-js does not know the target's scheme
   */
  constructor(target: string, options: ChannelOptions, transport = credentials.createInsecure()) {
    this.#credentials = new TrackingCredentials(transport);
    this.client = new Client(target.replace(bracketedV4, "$1"), this.#credentials, {
      "grpc.use_local_subchannel_pool": 1,
      // Long enough for a busy process to close the channel before grpc-js connects once more.
      "grpc.initial_reconnect_backoff_ms": 1_000,
      "grpc.max_reconnect_backoff_ms": 1_000,
      "grpc.enable_retries": 0,
      // Up to this size, grpc-js reports messages as written that the peer has not read.
      "grpc.per_rpc_retry_buffer_size": retryBufferBytes,
      "grpc.service_config_disable_resolution": 1,
      "grpc.enable_channelz": 0,
      ...options,
    });
  }

  /** True if there is a connection that accepts calls. */
  get isConnected(): boolean {
    return this.client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  /** Bytes that have come over its open connections, of which it has one at a time. */
  get bytesRead(): number {
    return this.#credentials.bytesRead;
  }

  async close(): Promise<void> {
    // First, because the timer of grpc-js may be due already.
    this.#credentials.isClosed = true;
    this.client.close();
    // Let pending calls send their end first.
    await nextTurn();
    this.#credentials.destroySockets();
  }
}

/** Options of a channel for streams of documents of so many bytes at most, whose server is asked for a sign of life in its silence. */
export function documentStreamOptions(maxDocumentBytes: number): ChannelOptions {
  return {
    "grpc.keepalive_time_ms": 20_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.keepalive_permit_without_calls": 0,
    "grpc.max_receive_message_length": maxDocumentBytes + contextBytes,
  };
}

class TrackingCredentials extends ChannelCredentials {
  readonly #transport: ChannelCredentials;
  readonly #sockets = new Set<Socket>();
  /** If true, no connection is opened any more. */
  isClosed = false;

  constructor(transport: ChannelCredentials) {
    super();
    this.#transport = transport;
  }

  get bytesRead(): number {
    return [...this.#sockets].reduce((sum, socket) => sum + socket.bytesRead, 0);
  }

  destroySockets(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  override compose(): never {
    throw new Error("the source has no call credentials");
  }

  override _isSecure(): boolean {
    return this.#transport._isSecure();
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(
    ...args: Parameters<ChannelCredentials["_createSecureConnector"]>
  ): SecureConnector {
    const connector = this.#transport._createSecureConnector(...args);
    return {
      // Called before grpc-js opens a socket.
      waitForReady: () =>
        this.isClosed ? Promise.reject(new Error(channelIsClosed)) : connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
      connect: (socket) => {
        // grpc-js destroys the socket if connect rejects.
        if (this.isClosed) return Promise.reject(new Error(channelIsClosed));
        this.#sockets.add(socket);
        socket.once("close", () => this.#sockets.delete(socket));
        return connector.connect(socket);
      },
    };
  }
}
