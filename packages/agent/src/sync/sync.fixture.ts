import { connect, createServer, type Server as TcpServer, type Socket } from "node:net";
import { Server, ServerCredentials, type Metadata, type ServerWritableStream } from "@grpc/grpc-js";
import { syncV1 } from "@bunting/protocol";
import { createLogger, systemClock, type Clock } from "@bunting/runtime";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { freePort } from "@bunting/test/support/free-port.js";
import type { Delivery, SourceMemory, SyncSourceOptions } from "./sync-source.js";
import type { SyncSourceParts } from "./on-demand-source.js";
import type { GrpcSourceConfig, SourceConfig } from "./source-config.js";
import { SourceState } from "./source-state.js";
import { noSyncMetrics } from "./sync-metrics.fixture.js";
import { resetSocket } from "@bunting/test/support/reset-socket.js";

/** One SyncFlags stream as the server has it. */
class ServedStream {
  readonly request: syncV1.SyncFlagsRequest;
  readonly metadata: Metadata;
  readonly authority: string;
  readonly cancelled: Promise<void>;
  readonly #call: ServerWritableStream<syncV1.SyncFlagsRequest, Buffer>;

  constructor(call: ServerWritableStream<syncV1.SyncFlagsRequest, Buffer>) {
    this.#call = call;
    this.request = call.request;
    this.metadata = call.metadata;
    this.authority = call.getHost();
    this.cancelled = new Promise((resolve) => call.once("cancelled", resolve));
  }

  headers(): void {
    this.#call.sendMetadata(this.#call.metadata.clone());
  }

  send(document: string, syncContext?: Readonly<Record<string, unknown>>): void {
    const message = { flagConfiguration: document, ...(syncContext === undefined ? {} : { syncContext }) };
    this.sendBytes(Buffer.from(syncV1.SyncFlagsResponse.encode(message).finish()));
  }

  sendBytes(message: Buffer): void {
    this.#call.write(message);
  }

  /** Ends with OK, as a stock flagd-proxy does at SIGTERM. */
  end(): void {
    this.#call.end();
  }

  fail(status: { readonly code: number; readonly details?: string; readonly metadata?: Metadata }): void {
    this.#call.emit("error", status);
  }
}

/** A server of flagd.sync.v1 made of grpc-js and the generated messages, behind a relay that can stall or cut its connections. */
export class StockServer {
  readonly streams = new EventQueue<ServedStream>();
  readonly relay = new TcpRelay();
  readonly #credentials: ServerCredentials;
  #server: Server | undefined;

  constructor(serverCredentials = ServerCredentials.createInsecure()) {
    this.#credentials = serverCredentials;
  }

  /** A port without a listener until `start`. */
  async reserve(): Promise<string> {
    await this.relay.listen();
    await this.relay.close();
    return this.target;
  }

  async start(): Promise<string> {
    const server = new Server();
    server.addService(
      {
        syncFlags: {
          path: "/flagd.sync.v1.FlagSyncService/SyncFlags",
          requestStream: false,
          responseStream: true,
          requestSerialize: (request: syncV1.SyncFlagsRequest) =>
            Buffer.from(syncV1.SyncFlagsRequest.encode(request).finish()),
          requestDeserialize: (bytes: Buffer) => syncV1.SyncFlagsRequest.decode(bytes),
          responseSerialize: (bytes: Buffer) => bytes,
          responseDeserialize: (bytes: Buffer) => bytes,
        },
      },
      {
        syncFlags: (call: ServerWritableStream<syncV1.SyncFlagsRequest, Buffer>) => {
          this.streams.push(new ServedStream(call));
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", this.#credentials, (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    this.#server = server;
    this.relay.target = port;
    await this.relay.listen();
    return this.target;
  }

  get target(): string {
    return `127.0.0.1:${this.relay.port}`;
  }

  nextStream(): Promise<ServedStream> {
    return this.streams.nextEvent("a stream");
  }

  async stop(): Promise<void> {
    this.#server?.forceShutdown();
    await this.relay.close();
  }
}

/** Passes bytes between its connections and a port, until told otherwise. */
export class TcpRelay {
  target = 0;
  port = 0;
  /** Connections that were accepted, ever. */
  accepted = 0;
  #server: TcpServer | undefined;
  readonly #clients = new Set<Socket>();
  readonly #pairs = new Map<Socket, Socket>();
  #isSilent = false;

  /** Connections that clients have open. */
  get open(): number {
    return this.#clients.size;
  }

  async listen(): Promise<void> {
    const server = createServer((client) => this.#accept(client));
    this.#server = server;
    if (this.port === 0) this.port = await freePort();
    await new Promise<void>((resolve) => server.listen(this.port, "127.0.0.1", resolve));
  }

  /** From now on nothing passes in either direction and neither side is notified, as when a network fails. */
  silence(): void {
    this.#isSilent = true;
    for (const [client, server] of this.#pairs) {
      client.unpipe(server);
      server.unpipe(client);
      client.resume();
      server.resume();
    }
  }

  /** New connections pass again. */
  speak(): void {
    this.#isSilent = false;
  }

  /** Cuts all connections, as a process that is killed does. */
  cut(): void {
    for (const client of this.#clients) resetSocket(client);
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of [...this.#clients, ...this.#pairs.values()]) socket.destroy();
    await closed;
  }

  #accept(client: Socket): void {
    this.accepted++;
    this.#clients.add(client);
    client.on("error", () => undefined);
    client.once("close", () => {
      this.#clients.delete(client);
      this.#pairs.get(client)?.destroy();
      this.#pairs.delete(client);
    });
    if (this.#isSilent) {
      client.resume();
      return;
    }
    const server = connect(this.target, "127.0.0.1");
    this.#pairs.set(client, server);
    server.on("error", () => client.destroy());
    server.once("close", () => {
      if (!this.#isSilent) client.destroy();
    });
    client.pipe(server);
    server.pipe(client);
  }
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly reason?: string;
  readonly error?: string;
  readonly advice?: string;
}

/** What a source is given, and what it made of it. */
export class SourceProbe {
  readonly deliveries = new EventQueue<Delivery>();
  readonly logs: LogLine[] = [];
  readonly failures: string[] = [];
  /** The sources that reported that they have no document. */
  readonly answersWithout: number[] = [];
  /** Whether `deliver` takes documents over. */
  isAccepting = true;
  readonly memory: SourceMemory;
  readonly options: SyncSourceOptions;

  /** @param memory of the source before it, which this one takes the place of */
  constructor(clock: Clock = systemClock, maxDocumentBytes = 1_000_000, memory: SourceMemory = {}) {
    const logger = createLogger(
      { format: "json", debug: false },
      { write: (line) => void this.logs.push(JSON.parse(line) as LogLine) },
    );
    this.memory = memory;
    this.options = {
      context: {
        clock,
        logger,
        metrics: { ...noSyncMetrics, sourceFailed: (_source, reason) => void this.failures.push(reason) },
      },
      maxDocumentBytes,
      receiver: {
        deliver: (delivery) => {
          this.deliveries.push(delivery);
          return this.isAccepting ? { rejectedFlags: [] } : { refusal: "refused by the test" };
        },
        currentDocument: () => undefined,
        answered: (sourceIndex) => void this.answersWithout.push(sourceIndex),
        confirm: () => undefined,
        memoryOf: () => memory,
      },
    };
  }

  /** The text of the next document. */
  async nextDocument(): Promise<string> {
    return (await this.deliveries.nextEvent("a document")).bytes.toString();
  }

  async failure(reason: string): Promise<void> {
    await eventually(() => this.failures.includes(reason), `the failure ${reason}`);
  }
}

/** What the code of a source gets, without what loads it. */
export function partsOf<Config extends SourceConfig>(
  config: Config,
  options: SyncSourceOptions,
): SyncSourceParts<Config> {
  return { config, options, state: new SourceState(config, options) };
}

export function grpcConfig(target: string, fields: Partial<GrpcSourceConfig> = {}): GrpcSourceConfig {
  return {
    provider: "grpc",
    sourceIndex: 2,
    uri: target,
    selector: "",
    target,
    authority: undefined,
    isTls: false,
    certPath: "",
    clientCertPath: "",
    clientKeyPath: "",
    tokenFile: "",
    tokenBinding: undefined,
    providerId: "",
    headers: {},
    maxMessageBytes: undefined,
    isIncremental: false,
    ...fields,
  };
}
