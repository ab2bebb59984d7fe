import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2";
import type { Socket } from "node:net";
import { EventQueue } from "../event-queue.js";
import { testTls } from "./test-tls.js";

/** The parts of a watch event that tests look at. */
export interface RawEvent {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly code?: number;
    readonly reason?: string;
    readonly metadata: {
      readonly name?: string;
      readonly resourceVersion?: string;
      readonly uid?: string;
      readonly generation?: number;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly spec?: unknown;
  };
}

export const flagsPath = "/apis/core.openfeature.dev/v1beta1/featureflags";

export function flagsOf(namespace: string): string {
  return `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflags`;
}

/** A client on bare node:http2, which shows exactly what was sent. */
export class RawApiClient {
  readonly session: ClientHttp2Session;
  readonly #headers: Record<string, string>;
  #socket: Socket | undefined;
  /** The error codes of received GOAWAY frames. */
  readonly goAways: number[] = [];

  constructor(url: string, headers: Record<string, string> = {}, ca: Buffer = testTls.ca) {
    this.session = connect(url, { ca });
    this.session.once("connect", (_session, socket) => (this.#socket = socket));
    this.session.on("error", () => undefined);
    this.session.on("goaway", (code: number) => this.goAways.push(code));
    this.#headers = headers;
  }

  /** Sends a request; the answer can be read while it arrives. */
  request(path: string, options: { readonly method?: string; readonly body?: string } = {}): RawAnswer {
    // Node 20 throws by itself; Node 24 returns a stream that fails.
    if (this.session.closed) throw new Error("this session has received a GOAWAY");
    const stream = this.session.request({
      ":path": path,
      ":method": options.method ?? "GET",
      ...this.#headers,
    });
    stream.end(options.body);
    return new RawAnswer(stream);
  }

  /** Sends a request and waits for the whole answer. */
  async get(path: string): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
    const answer = this.request(path);
    await answer.closed;
    return { status: await answer.status, headers: answer.headers, body: answer.text };
  }

  close(): void {
    this.session.destroy();
    // Node 24 keeps the socket of a session that was destroyed after a GOAWAY.
    setImmediate(() => this.#socket?.destroy());
  }
}

class RawAnswer {
  readonly stream: ClientHttp2Stream;
  readonly status: Promise<number>;
  readonly closed: Promise<void>;
  /** The lines of a watch. One that is not JSON becomes `{type: "UNREADABLE"}`. */
  readonly events = new EventQueue<RawEvent>();
  readonly chunks: Buffer[] = [];
  headers: IncomingHttpHeaders = {};
  #rest = "";

  constructor(stream: ClientHttp2Stream) {
    this.stream = stream;
    stream.on("error", () => undefined);
    this.closed = new Promise((resolve) => stream.once("close", resolve));
    this.status = new Promise((resolve) => {
      stream.once("response", (headers) => {
        this.headers = headers;
        resolve(headers[":status"] ?? 0);
      });
    });
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  /** True if the server ended it without an error. */
  get endedCleanly(): boolean {
    return this.stream.closed && this.stream.rstCode === 0;
  }

  async next(what?: string): Promise<RawEvent> {
    return this.events.nextEvent(what);
  }

  /** `TYPE name@resourceVersion` of the next event. */
  async nextInShort(): Promise<string> {
    const { type, object } = await this.next();
    return `${type} ${object.metadata.name ?? ""}@${object.metadata.resourceVersion ?? ""}`;
  }

  #read(chunk: Buffer): void {
    this.chunks.push(chunk);
    const lines = (this.#rest + chunk.toString("latin1")).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.events.push(parse(Buffer.from(line, "latin1").toString()));
  }
}

/** Resolves when the session has ended, by either side. */
export async function sessionClosed(client: RawApiClient): Promise<void> {
  if (client.session.destroyed) return;
  await new Promise<void>((resolve) => client.session.once("close", resolve));
}

function parse(line: string): RawEvent {
  try {
    return JSON.parse(line) as RawEvent;
  } catch {
    return { type: "UNREADABLE", object: { kind: "", metadata: {} } };
  }
}
