/** Not a test: a proxy of bunting.sync.v1 whose part a test plays by hand, and a source over a real store. */
import type { DocumentVersion } from "@bunting/sync-client/messages";
import { buntingSyncV1, encodeDocument, syncV1, type FlagDocument } from "@bunting/protocol";
import {
  bidiStreaming,
  frameMessage,
  GrpcServer,
  serverStreaming,
  type ResponseStream,
  type RpcStatus,
} from "@bunting/rpc";
import { PortListener } from "@bunting/server";
import { createLogger, type Clock } from "@bunting/runtime";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import { FlagStore } from "../store/flag-store.js";
import { HeapBudget } from "../store/heap-budget.js";
import { noStoreMetrics } from "../store/store-metrics.fixture.js";
import {
  readRequest,
  writeResponse,
  type Request,
  type Response,
} from "@bunting/sync-client/internal/bunting-messages.fixture.js";
import { digestDocument, hashFlags } from "./flag-hashes.js";
import type { Delivery, SyncSourceOptions } from "./sync-source.js";
import { SourceProbe, TcpRelay } from "./sync.fixture.js";

export const topic = "demo/flags";

/** One stream of bunting.sync.v1 as the proxy has it. */
export class SyncStream {
  readonly requests = new EventQueue<Request>();
  readonly closed: Promise<void>;
  readonly out: ResponseStream;

  constructor(out: ResponseStream) {
    this.out = out;
    this.closed = new Promise((resolve) => out.onClose(resolve));
  }

  /** The next request, which is of the given kind. */
  async next<Kind extends keyof Request>(kind: Kind): Promise<NonNullable<Request[Kind]>> {
    const request = await this.requests.nextEvent(kind);
    const message = request[kind];
    if (message === undefined) throw new Error(`expected ${kind}, but there came ${JSON.stringify(request)}`);
    return message;
  }

  /** What a stream begins with. */
  async subscribed(): Promise<buntingSyncV1.Subscribe> {
    await this.next("hello");
    return this.next("subscribe");
  }

  send(response: Response): void {
    this.out.write(frameMessage(writeResponse(response)));
  }

  /** Sends a document and awaits the answer. */
  async snapshot(document: FlagDocument, version: Partial<buntingSyncV1.Version> = {}): Promise<Request> {
    this.send({
      snapshot: {
        topic,
        version: versionOf(document, version),
        document: Buffer.from(encodeDocument(document)),
      },
    });
    return this.requests.nextEvent("an answer");
  }

  end(code: RpcStatus["code"], message = "", trailers: Readonly<Record<string, string>> = {}): void {
    this.out.end({ code, message, trailers });
  }
}

/** Made of our own gRPC server, behind a relay that can stall or cut its connections. */
export class BuntingServer {
  readonly streams = new EventQueue<SyncStream>();
  /** Streams of flagd.sync.v1, which it speaks too. */
  readonly flagdStreams = new EventQueue<{ readonly selector: string; readonly out: ResponseStream }>();
  readonly relay = new TcpRelay();
  readonly listener: PortListener;

  constructor(speaks: { readonly bunting: boolean; readonly flagd?: boolean } = { bunting: true }) {
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const sync = bidiStreaming({
      path: "/bunting.sync.v1.SyncService/Sync",
      decode: (bytes) => readRequest(bytes),
      handle: (out) => {
        const stream = new SyncStream(out);
        this.streams.push(stream);
        return { onMessage: (request) => stream.requests.push(request), onEnd: () => undefined };
      },
    });
    const syncFlags = serverStreaming({
      path: "/flagd.sync.v1.FlagSyncService/SyncFlags",
      decode: (bytes) => syncV1.SyncFlagsRequest.decode(bytes),
      handle: ({ selector }, out) => this.flagdStreams.push({ selector, out }),
    });
    const methods = [...(speaks.bunting ? [sync] : []), ...(speaks.flagd === true ? [syncFlags] : [])];
    this.listener = new PortListener({
      endpoint: { host: "127.0.0.1", port: 0 },
      logger,
      grpc: new GrpcServer({ methods, logger }),
    });
  }

  async start(relay: TcpRelay = this.relay): Promise<string> {
    await this.listener.listen();
    relay.target = this.listener.port;
    if (relay === this.relay) await relay.listen();
    return `127.0.0.1:${relay.port}`;
  }

  nextStream(): Promise<SyncStream> {
    return this.streams.nextEvent("a stream of bunting.sync.v1");
  }

  nextFlagdStream(): Promise<{ readonly selector: string; readonly out: ResponseStream }> {
    return this.flagdStreams.nextEvent("a stream of flagd.sync.v1");
  }

  async stop(): Promise<void> {
    for (const session of this.listener.sessions) session.destroy();
    await this.listener.close();
    await this.relay.close();
  }
}

export function flagdFrame(document: FlagDocument): Buffer {
  const message = { flagConfiguration: encodeDocument(document) };
  return frameMessage(syncV1.SyncFlagsResponse.encode(message).finish());
}

/** What a source is given where documents go into a real store. */
export class StoreProbe {
  readonly #base: SourceProbe;
  readonly store: FlagStore;
  readonly confirmed: DocumentVersion[] = [];
  readonly nacks: string[] = [];
  readonly messages: string[] = [];
  readonly renewals: string[] = [];
  readonly options: SyncSourceOptions;

  constructor(clock?: Clock, maxDocumentBytes?: number) {
    this.#base = new SourceProbe(clock, maxDocumentBytes);
    const { context } = this.#base.options;
    const sources = ["", "", "proxy"].map((uri) => ({ uri }));
    this.store = new FlagStore({
      sources,
      budget: new HeapBudget(),
      context: { logger: context.logger, metrics: noStoreMetrics },
    });
    this.options = {
      ...this.#base.options,
      context: {
        ...context,
        metrics: {
          ...context.metrics,
          nacked: (_source, reason) => void this.nacks.push(reason),
          messageReceived: (_source, kind) => void this.messages.push(kind),
          streamRenewed: (_source, result) => void this.renewals.push(result),
        },
      },
      receiver: {
        ...this.#base.options.receiver,
        deliver: (delivery) => this.#deliver(delivery),
        currentDocument: (sourceIndex) => this.store.currentDocument(sourceIndex),
        confirm: (sourceIndex, version) => {
          this.confirmed.push(version);
          this.store.confirm(sourceIndex, version);
        },
      },
    };
  }

  get deliveries(): EventQueue<Delivery> {
    return this.#base.deliveries;
  }

  /** The log, as text. */
  get log(): string {
    return JSON.stringify(this.#base.logs);
  }

  get failures(): readonly string[] {
    return this.#base.failures;
  }

  failure(reason: string): Promise<void> {
    return this.#base.failure(reason);
  }

  nextDocument(): Promise<string> {
    return this.#base.nextDocument();
  }

  /** What is served of the source's document. */
  get text(): string | undefined {
    return this.store.currentDocument(2)?.layout.bytes.toString();
  }

  #deliver(delivery: Delivery): ReturnType<SyncSourceOptions["receiver"]["deliver"]> {
    this.deliveries.push(delivery);
    try {
      return this.store.replace(delivery.sourceIndex, delivery.bytes, delivery.version);
    } catch (error) {
      return { refusal: (error as Error).message };
    }
  }
}

/** A Version with the digest of the document (topic-document.test.ts proves that it is the right one). */
export function versionOf(
  document: FlagDocument,
  fields: Partial<buntingSyncV1.Version> = {},
): buntingSyncV1.Version {
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const store = new FlagStore({
    sources: [{ uri: "" }],
    budget: new HeapBudget(),
    context: { logger, metrics: noStoreMetrics },
  });
  store.replace(0, Buffer.from(encodeDocument(document)));
  const layout = store.currentDocument(0)?.layout;
  const hashes = layout && hashFlags(layout);
  if (layout === undefined || hashes === undefined) throw new Error("a document without order");
  const part = (slice: { start: number; end: number } | undefined): Buffer | undefined =>
    slice && layout.bytes.subarray(slice.start, slice.end);
  const { metadata, evaluators, entries } = layout;
  const digest = digestDocument({
    ids: entries.ids,
    hashes,
    metadata: part(metadata),
    evaluators: part(evaluators),
  });
  return { uid: "", generation: "0", resourceVersion: "", digest, ...fields };
}
