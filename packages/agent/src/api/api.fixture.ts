import { type JsonObject } from "@bunting/protocol";
import { GrpcServer, statusCode, type Method, type StatusName } from "@bunting/rpc";
import { PortListener, type ReadFairness, type WholeRequestHandler } from "@bunting/server";
import type { Clock } from "@bunting/runtime";
import { Client, credentials, Metadata, type ClientReadableStream, type ServiceError } from "@grpc/grpc-js";
import { expect } from "chai";
import type { RequestListener } from "node:http";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { recordingLogger, type RecordingLogger } from "@bunting/test/support/recording-logger.js";
import { afterwards, releaseAfterEach } from "@bunting/test/support/releases.js";
import { Evaluator } from "@bunting/evaluation";
import { FlagStore } from "../store/flag-store.js";
import { HeapBudget } from "../store/heap-budget.js";
import { noStoreMetrics } from "../store/store-metrics.fixture.js";
import { AwaitedSources } from "../sync/awaited-sources.js";
import type { ApiMetrics } from "./api-metrics.js";
import { createContextEnrichment, type ContextEnrichment } from "./context.js";
import { evaluationV1, evaluationV2, schemaV1 } from "./dialects.js";
import { createEvaluationService, type EvaluationService } from "./evaluation-service.js";
import type { FlagEvaluator } from "./backend.js";
import { createSelections, type Selections } from "./selection.js";

export { afterwards, recordingLogger, releaseAfterEach, type RecordingLogger };

// What the tests of this folder share: a real store and evaluator behind real sockets, released after each test.

export type RecordingMetrics = ApiMetrics & { readonly calls: (readonly unknown[])[] };

function recordingMetrics(): RecordingMetrics {
  const calls: (readonly unknown[])[] = [];
  const record =
    (name: string) =>
    (...args: readonly unknown[]): void =>
      void calls.push([name, ...args]);
  return {
    calls,
    evaluated: record("evaluated"),
    evaluationFailed: record("evaluationFailed"),
    connectionEnded: record("connectionEnded"),
    requestRefused: record("requestRefused"),
    unadmitted: record("unadmitted"),
    longRequests: record("longRequests"),
    ofrepEvaluated: record("ofrepEvaluated"),
    ofrepEvaluationFailed: record("ofrepEvaluationFailed"),
    rpc: record("rpc"),
    grpcCalls: () => ({ onCallEnd: () => undefined }),
    httpRequest: record("httpRequest"),
    httpActiveRequests: record("httpActiveRequests"),
    syncStreamOpened: record("syncStreamOpened"),
    syncStreamClosed: record("syncStreamClosed"),
  };
}

/** A store with one document for each source, and everything the API needs. */
export interface World {
  readonly store: FlagStore;
  readonly evaluator: FlagEvaluator;
  readonly selections: Selections;
  readonly context: ContextEnrichment;
  readonly metrics: RecordingMetrics;
  readonly logger: RecordingLogger;
  readonly clock: ManualClock;
  /** The sources that count as not having answered; none at first. */
  readonly unread: AwaitedSources;
  /** v2, v1 and schema.v1, in this order. */
  readonly services: readonly EvaluationService[];
  /** Replaces the document of a source, by its index. */
  put(document: JsonObject, sourceIndex?: number): void;
}

export interface WorldOptions {
  /** Indexes of the sources that have not answered; none if not given. */
  readonly unread?: readonly number[];
  readonly documents?: readonly JsonObject[];
  readonly contextValues?: Readonly<Record<string, string>>;
  readonly contextFromHeader?: Readonly<Record<string, string>>;
}

export function createWorld(options: WorldOptions = {}): World {
  const { documents = [{ flags: {} }], contextValues = {}, contextFromHeader = {} } = options;
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const store = new FlagStore({
    sources: documents.map((_, index) => ({ uri: `source-${index}` })),
    budget: new HeapBudget(),
    context: { logger, metrics: noStoreMetrics },
  });
  const put = (document: JsonObject, sourceIndex = 0): void =>
    void store.replace(sourceIndex, Buffer.from(JSON.stringify(document)));
  const clock = new ManualClock();
  const evaluator = new Evaluator({ clock });
  store.onChange((change) => evaluator.apply(change));
  documents.forEach((document, index) => put(document, index));
  const selections = createSelections();
  const context = createContextEnrichment({ contextValues, contextFromHeader });
  const unread = new AwaitedSources(documents.map((_, index) => ({ uri: `source-${index}` })));
  documents.forEach((_, index) => {
    if (options.unread?.includes(index) !== true) unread.answered(index);
  });
  const dependencies = { evaluator, unread, selections, context, metrics };
  const services = [evaluationV2, evaluationV1, schemaV1].map((dialect) =>
    createEvaluationService(dialect, dependencies),
  );
  return { store, evaluator, unread, selections, context, metrics, logger, clock, services, put };
}

/** How long changes are recent, as by default. */
export const recentMs = 300_000;

/** How long a client may read nothing, by the stall clock. */
export const stallTimeoutMs = 60_000;

/** Listens on a free port; closed after the test. */
export async function listen(
  methods: readonly Method[],
  http?: RequestListener,
  {
    wholeRequests,
    clock,
    stallClock,
    turns,
  }: {
    wholeRequests?: WholeRequestHandler | undefined;
    clock?: Clock;
    stallClock?: Clock;
    turns?: ReadFairness | undefined;
  } = {},
): Promise<PortListener> {
  const logger = recordingLogger();
  const listener = new PortListener({
    endpoint: { host: "127.0.0.1", port: 0 },
    logger,
    grpc: new GrpcServer({ methods, logger, ...(clock === undefined ? {} : { clock }) }),
    ...(http === undefined ? {} : { http }),
    wholeRequests,
    turns,
    ...(stallClock === undefined ? {} : { stall: { timeoutMs: stallTimeoutMs, clock: stallClock } }),
  });
  afterwards(() => listener.close());
  await listener.listen();
  return listener;
}

interface MessageType<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A real gRPC client with the messages of the generated code. */
export class GrpcClient {
  readonly #client: Client;

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
    });
    afterwards(() => this.#client.close());
  }

  unary<Request, Response>(
    path: string,
    types: readonly [MessageType<Request>, MessageType<Response>],
    request: Request,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return this.raw(path, Buffer.from(types[0].encode(request).finish()), headers).then((bytes) =>
      types[1].decode(bytes),
    );
  }

  raw(path: string, request: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        (bytes: Buffer) => bytes,
        (bytes) => bytes,
        request,
        metadataOf(headers),
        (error, response) => {
          if (error === null) resolve(response ?? Buffer.alloc(0));
          else reject(error);
        },
      );
    });
  }

  stream<Request, Response>(
    path: string,
    types: readonly [MessageType<Request>, MessageType<Response>],
    request: Request,
    headers: Readonly<Record<string, string>> = {},
  ): StreamProbe<Response> {
    return new StreamProbe(
      this.#client.makeServerStreamRequest(
        path,
        (message: Request) => Buffer.from(types[0].encode(message).finish()),
        (bytes) => types[1].decode(bytes),
        request,
        metadataOf(headers),
      ),
    );
  }
}

function metadataOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

/** A server stream as its client sees it. */
export class StreamProbe<T> {
  readonly call: ClientReadableStream<T>;
  readonly messages = new EventQueue<T>();
  readonly headers: Promise<unknown>;
  readonly status: Promise<{ readonly code: number; readonly details: string }>;

  constructor(call: ClientReadableStream<T>) {
    this.call = call;
    this.headers = new Promise((resolve) => call.once("metadata", resolve));
    this.status = new Promise((resolve) => call.once("status", resolve));
    call.on("data", (message: T) => this.messages.push(message));
    call.on("error", () => undefined);
  }

  next(what?: string): Promise<T> {
    return this.messages.nextEvent(what);
  }
}

/** Expects a call to fail with a status. */
export async function expectStatus(call: Promise<unknown>, code: StatusName, details: string): Promise<void> {
  try {
    await call;
  } catch (error) {
    const { code: number, details: text } = error as ServiceError;
    expect({ code: number, details: text }).to.deep.equal({ code: statusCode[code], details });
    return;
  }
  throw new Error(`the call was expected to fail with ${code}`);
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** POSTs with fetch; a body that is not a string or bytes is sent as JSON. */
export async function post(
  port: number,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  method = "POST",
): Promise<HttpAnswer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { "content-type": "application/json", connection: "close", ...headers },
    ...(method === "GET" || method === "HEAD"
      ? {}
      : {
          body:
            typeof body === "string" || body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
        }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
