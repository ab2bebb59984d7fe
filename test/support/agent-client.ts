import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2";
import { once } from "node:events";
import { buntingSyncV1, type TopicKey } from "@bunting/protocol";
import { EventQueue } from "./event-queue.js";

type Request = NonNullable<buntingSyncV1.SyncRequest["message"]>;
export type AgentResponse = NonNullable<buntingSyncV1.SyncResponse["message"]>;
/** A message and its position on the stream. */
export type NumberedResponse = AgentResponse & { readonly number: number };
type ResponseOf<Kind extends AgentResponse["$case"]> = Extract<AgentResponse, { $case: Kind }>["value"];

/** How a stream ended: its trailers, or RST_STREAM. */
export interface AgentEnd {
  readonly status: number | undefined;
  readonly message: string;
  readonly resetCode: number;
}

/** The agent's end of bunting.sync.v1, driven by a test, on plain node:http2. */
export class AgentConnection {
  readonly #session: ClientHttp2Session;

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
  }

  static async open(port: number, windowBytes = 65_535): Promise<AgentConnection> {
    const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: windowBytes } });
    session.on("error", () => undefined);
    await once(session, "localSettings");
    return new AgentConnection(session);
  }

  /** A new stream, which has sent its hello unless told otherwise, and presents a token if one is given. */
  stream(saysHello = true, token?: string): AgentClientStream {
    const stream = this.#session.request({
      ":method": "POST",
      ":path": "/bunting.sync.v1.SyncService/Sync",
      "content-type": "application/grpc+proto",
      te: "trailers",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    });
    const agent = new AgentClientStream(stream);
    if (saysHello) agent.send({ $case: "hello", value: { agent: "test/1", providerId: "" } });
    return agent;
  }

  close(): void {
    this.#session.destroy();
  }
}

export class AgentClientStream {
  /** Without heartbeats, which have their own queue. */
  readonly messages = new EventQueue<NumberedResponse>();
  readonly heartbeats = new EventQueue<NumberedResponse>();
  /** Resolves when response headers have arrived. */
  readonly headers: Promise<unknown>;
  readonly ended: Promise<AgentEnd>;
  hasEnded = false;
  /** Response headers have arrived that were not a refusal. */
  isOpen = false;
  receivedBytes = 0;
  readonly #stream: ClientHttp2Stream;
  #unread: Buffer = Buffer.alloc(0);
  #received = 0;
  #fences = 0;
  /** By topic: the number of the last message that asked for an answer. */
  readonly #asked = new Map<string, number>();

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    stream.on("error", () => undefined);
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
    this.headers = once(stream, "response").catch(() => undefined);
    stream.on("response", (headers) => (this.isOpen = headers["grpc-status"] === undefined));
    this.ended = new Promise((resolve) => {
      let status: number | undefined;
      let message = "";
      const take = (headers: IncomingHttpHeaders): void => {
        if (headers["grpc-status"] === undefined) return;
        status = Number(headers["grpc-status"]);
        const text = headers["grpc-message"];
        message = typeof text === "string" ? decodeURIComponent(text) : "";
      };
      stream.on("response", take);
      stream.on("trailers", take);
      // A stream that was reset while it had data to send is never closed by node if its last bytes are read after the reset.
      stream.on("end", () => {
        if (stream.aborted) stream.destroy();
      });
      stream.on("close", () => {
        this.hasEnded = true;
        resolve({ status, message, resetCode: stream.rstCode });
      });
    });
  }

  send(message: Request): void {
    void this.sendBytes(buntingSyncV1.SyncRequest.encode({ message }).finish());
  }

  /** Sends bytes that need not be a message; resolves when flow control has let them pass. */
  sendBytes(message: Uint8Array): Promise<void> {
    return this.#write(framed(message));
  }

  /** Sends many messages at once; resolves when flow control has let them pass. */
  sendAll(messages: readonly Request[]): Promise<void> {
    return this.#write(
      Buffer.concat(
        messages.map((message) => framed(buntingSyncV1.SyncRequest.encode({ message }).finish())),
      ),
    );
  }

  subscribe(topic: string, held?: Partial<buntingSyncV1.Version>): void {
    const version = { uid: "", generation: "0", resourceVersion: "", digest: Buffer.alloc(0), ...held };
    this.send({ $case: "subscribe", value: { topic, held: held && version } });
  }

  unsubscribe(topic: TopicKey): void {
    this.send({ $case: "unsubscribe", value: { topic } });
  }

  /** Number of the last message of a topic that asked for an answer; 0 if there was none. */
  lastNumber(topic: string): number {
    return this.#asked.get(topic) ?? 0;
  }

  /** Acknowledges the last message of the topic, unless another is given. */
  ack(
    topic: TopicKey,
    digest: Buffer | undefined,
    rejectedFlags: buntingSyncV1.RejectedFlag[] = [],
    number = this.lastNumber(topic),
  ): void {
    const value = { topic, number: String(number), digest: digest ?? Buffer.alloc(0), rejectedFlags };
    this.send({ $case: "ack", value });
  }

  /** Refuses the last message of the topic, unless another is given. */
  nack(
    topic: TopicKey,
    reason: string,
    options: { number?: number; held?: Buffer; isDeltaMismatch?: boolean } = {},
  ): void {
    const { number = this.lastNumber(topic), held = Buffer.alloc(0), isDeltaMismatch = false } = options;
    const value = { topic, number: String(number), heldDigest: held, reason, isDeltaMismatch };
    this.send({ $case: "nack", value });
  }

  /** The next message, which is of the given kind. */
  async next<Kind extends AgentResponse["$case"]>(kind: Kind): Promise<ResponseOf<Kind>> {
    const message = await this.messages.nextEvent(kind);
    if (message.$case !== kind) throw new Error(`expected ${kind}, but got ${message.$case}`);
    return message.value as ResponseOf<Kind>;
  }

  /** The next message of the given kind; others before it are passed over. */
  async until<Kind extends AgentResponse["$case"]>(kind: Kind): Promise<ResponseOf<Kind>> {
    for (;;) {
      const message = await this.messages.nextEvent(kind);
      if (message.$case === kind) return message.value as ResponseOf<Kind>;
    }
  }

  /**
   * Fails unless all that the proxy had to say by now was taken: the next message answers what is asked for here, and so does the one after.
   * Twice, since an answer that is an error overtakes a topic which is due while another message is being written. It leaves no trace.
   */
  async fence(): Promise<void> {
    for (let i = 0; i < 2; i++) {
      const topic = `fence ${++this.#fences}`;
      this.subscribe(topic);
      const message = await this.messages.nextEvent("the answer to what names no topic");
      if (message.$case !== "topicError" || message.value.topic !== topic)
        throw new Error(`nothing was to come, but ${message.$case} of ${topicOf(message)} did`);
    }
  }

  /** Closes its side. */
  end(): void {
    this.#stream.end();
  }

  cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  #write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#stream.write(bytes, () => resolve()));
  }

  #read(chunk: Buffer): void {
    this.receivedBytes += chunk.length;
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    while (this.#unread.length >= 5) {
      const end = 5 + this.#unread.readUInt32BE(1);
      if (this.#unread.length < end) return;
      const { message } = buntingSyncV1.SyncResponse.decode(this.#unread.subarray(5, end));
      this.#unread = this.#unread.subarray(end);
      const number = ++this.#received;
      if (message === undefined) continue;
      if ("version" in message.value) this.#asked.set(message.value.topic, number);
      (message.$case === "heartbeat" ? this.heartbeats : this.messages).push({ ...message, number });
    }
  }
}

function topicOf({ value }: AgentResponse): string {
  return "topic" in value ? value.topic : "no topic";
}

/** The bytes behind their gRPC prefix. */
function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}
