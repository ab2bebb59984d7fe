import {
  Client,
  credentials,
  Metadata,
  type ChannelCredentials,
  type ChannelOptions,
  type ClientReadableStream,
  type StatusObject,
} from "@grpc/grpc-js";
import { legacySyncV1, syncV1 } from "@bunting/protocol";
import { EventQueue } from "./event-queue.js";

export interface SyncMessage {
  readonly text: string;
  readonly flags: Readonly<Record<string, { readonly defaultVariant?: string } | undefined>>;
  readonly syncContext: Readonly<Record<string, unknown>> | undefined;
  readonly state: number | undefined;
}

export interface SubscribeOptions {
  readonly selector?: string;
  /** The `flagd-selector` header, if it is to differ from the field. */
  readonly header?: string;
  readonly legacy?: boolean;
  /** Sent as `authorization: Bearer`. */
  readonly token?: string;
}

const paths = { current: "/flagd.sync.v1.FlagSyncService", legacy: "/sync.v1.FlagSyncService" };

/** A stock client of a sync port: plain grpc-js with the generated messages. Close it, or the test leaks a connection. */
export class StockSyncClient {
  readonly address: string;
  readonly #client: Client;

  constructor(
    address: string,
    options: ChannelOptions = {},
    channel: ChannelCredentials = credentials.createInsecure(),
  ) {
    this.address = address;
    this.#client = new Client(address, channel, {
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.use_local_subchannel_pool": 1,
      ...options,
    });
  }

  subscribe(options: SubscribeOptions = {}): SyncSubscription {
    const { selector = "", header, legacy = false, token } = options;
    const metadata = new Metadata();
    if (header !== undefined) metadata.set("flagd-selector", header);
    if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
    const call = this.#client.makeServerStreamRequest(
      `${legacy ? paths.legacy : paths.current}/SyncFlags`,
      (request: syncV1.SyncFlagsRequest) => Buffer.from(syncV1.SyncFlagsRequest.encode(request).finish()),
      legacy ? readLegacy : read,
      { providerId: "test", selector },
      metadata,
    );
    return new SyncSubscription(call);
  }

  fetchAll(selector: string, legacy = false): Promise<string> {
    return this.#unary(
      `${legacy ? paths.legacy : paths.current}/FetchAllFlags`,
      selector,
      (bytes) => syncV1.FetchAllFlagsResponse.decode(bytes).flagConfiguration,
    );
  }

  /** Resolves once all that the server had written to this connection has been taken from it. */
  async fence(): Promise<void> {
    await this.fetchAll("what names no topic").then(
      () => Promise.reject(new Error("a selector that names no topic was answered")),
      () => undefined,
    );
  }

  metadata(): Promise<Readonly<Record<string, unknown>> | undefined> {
    return this.#unary(
      `${paths.current}/GetMetadata`,
      "",
      (bytes) => syncV1.GetMetadataResponse.decode(bytes).metadata,
    );
  }

  close(): void {
    this.#client.close();
  }

  #unary<T>(path: string, selector: string, decode: (bytes: Buffer) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        (request: syncV1.FetchAllFlagsRequest) =>
          Buffer.from(syncV1.FetchAllFlagsRequest.encode(request).finish()),
        decode,
        { providerId: "test", selector },
        (error, value) => {
          if (error !== null) reject(error);
          else resolve(value as T);
        },
      );
    });
  }
}

/** One SyncFlags stream: what arrived, and how it ended. */
export class SyncSubscription {
  readonly messages = new EventQueue<SyncMessage>();
  /** The initial metadata, once response headers have arrived. */
  readonly headers: Promise<Metadata>;
  readonly ended: Promise<StatusObject>;
  readonly #call: ClientReadableStream<SyncMessage>;

  constructor(call: ClientReadableStream<SyncMessage>) {
    this.#call = call;
    this.headers = new Promise((resolve) => call.once("metadata", resolve));
    this.ended = new Promise((resolve) => call.once("status", resolve));
    call.on("data", (message: SyncMessage) => this.messages.push(message));
    // The 'status' event reports the same.
    call.on("error", () => undefined);
  }

  cancel(): void {
    this.#call.cancel();
  }
}

function read(bytes: Buffer): SyncMessage {
  const { flagConfiguration, syncContext } = syncV1.SyncFlagsResponse.decode(bytes);
  return { ...parse(flagConfiguration), syncContext, state: undefined };
}

function readLegacy(bytes: Buffer): SyncMessage {
  const { flagConfiguration, state } = legacySyncV1.SyncFlagsResponse.decode(bytes);
  return { ...parse(flagConfiguration), syncContext: undefined, state };
}

function parse(text: string): Pick<SyncMessage, "text" | "flags"> {
  const { flags } = JSON.parse(text) as Pick<SyncMessage, "flags">;
  return { text, flags };
}
