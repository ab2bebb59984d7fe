import type { JsonObject } from "@bunting/protocol";
import { frameMessage, framePrefixBytes } from "@bunting/rpc";
import { expect } from "chai";
import { connect } from "node:http2";
import type { Readable, Writable } from "node:stream";
import { request as httpRequest } from "node:http";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import { afterwards, createWorld, listen, type World, recentMs } from "../api.fixture.js";
import { EventStreams } from "../events/event-stream.js";
import { createCors } from "../http/cors.js";
import { LongRequestQueue } from "@bunting/server";
import { createConnectListener } from "./connect-listener.js";

export interface Frame {
  readonly flags: number;
  readonly payload: Buffer;
}

export type Version = "HTTP/1.1" | "HTTP/2";

/** An answer in frames, read as it comes. */
export class FramedAnswer {
  /** As it came: base64 in gRPC-Web's text form. */
  text = "";
  readonly frames = new EventQueue<Frame>();
  readonly head: Promise<Readonly<Record<string, unknown>>>;
  /** Whether the answer was whole. */
  readonly ended: Promise<"whole" | "cut">;
  trailers: Readonly<Record<string, unknown>> = {};
  readonly #cancel: () => void;
  readonly #isBase64: boolean;
  #received = Buffer.alloc(0);

  constructor(
    port: number,
    version: Version,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer | readonly string[],
  ) {
    this.#isBase64 = headers["content-type"]?.includes("-text") === true;
    let onHead: (headers: Readonly<Record<string, unknown>>) => void = () => undefined;
    let onEnd: (how: "whole" | "cut") => void = () => undefined;
    this.head = new Promise((resolve) => (onHead = resolve));
    this.ended = new Promise((resolve) => (onEnd = resolve));
    const follow = (stream: Readable): void => {
      stream.on("data", (chunk: Buffer) => this.#take(chunk));
      stream.on("end", () => onEnd("whole"));
      stream.on("error", () => onEnd("cut"));
      stream.on("aborted", () => onEnd("cut"));
    };
    if (version === "HTTP/2") {
      const session = connect(`http://127.0.0.1:${port}`);
      afterwards(() => session.destroy());
      const stream = session.request({ ":method": "POST", ":path": path, ...headers });
      this.#cancel = () => stream.close(8);
      stream.on("response", onHead);
      stream.on("trailers", (trailers: Record<string, unknown>) => (this.trailers = trailers));
      follow(stream);
      send(stream, body);
    } else {
      const request = httpRequest({ port, path, method: "POST", headers, agent: false }, (response) => {
        onHead({ ":status": response.statusCode, ...response.headers });
        response.on("end", () => (this.trailers = response.trailers));
        follow(response);
      });
      this.#cancel = () => request.destroy();
      request.on("error", () => onEnd("cut"));
      send(request, body);
    }
    afterwards(this.#cancel);
  }

  cancel(): void {
    this.#cancel();
  }

  async json(): Promise<unknown> {
    return JSON.parse((await this.frames.nextEvent("a frame")).payload.toString());
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, this.#isBase64 ? this.#decode(chunk) : chunk]);
    while (this.#received.length >= framePrefixBytes) {
      const end = framePrefixBytes + this.#received.readUInt32BE(1);
      if (this.#received.length < end) return;
      this.frames.push({
        flags: this.#received[0] ?? 0,
        payload: this.#received.subarray(framePrefixBytes, end),
      });
      this.#received = this.#received.subarray(end);
    }
  }

  /** As browsers do: whole groups of four characters, as soon as they have come. */
  #decode(chunk: Buffer): Buffer {
    const read = this.text.length - (this.text.length % 4);
    this.text += chunk.toString("latin1");
    const groups = this.text.slice(read, this.text.length - (this.text.length % 4)).match(/.{4}/g) ?? [];
    return Buffer.concat(groups.map((group) => Buffer.from(group, "base64")));
  }
}

/** Sends a body whole, or in pieces, each in a packet and, over HTTP/1.1, a chunk of its own. */
function send(stream: Writable, body: Buffer | readonly string[]): void {
  if (Buffer.isBuffer(body)) {
    stream.end(body);
    return;
  }
  const [first, ...rest] = body;
  if (first === undefined) stream.end();
  else stream.write(first, () => setImmediate(() => send(stream, rest)));
}

export interface Served {
  readonly world: World;
  readonly events: EventStreams;
  readonly call: (
    version: Version,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer | readonly string[],
  ) => FramedAnswer;
}

export const flags = (...keys: string[]): JsonObject =>
  Object.fromEntries(
    keys.map((key) => [key, { state: "ENABLED", variants: { on: true }, defaultVariant: "on" }]),
  );

export async function serve(streamDeadlineMs = 0, isYoung = false): Promise<Served> {
  const world = createWorld({ documents: [{ flags: flags("a") }] });
  const { services, metrics, logger, clock, selections, store } = world;
  const events = new EventStreams({ flags: store, selections, clock, streamDeadlineMs, recentMs });
  if (!isYoung) clock.advance(recentMs);
  world.store.onChange(({ changes }) => events.publish(changes));
  const http = createConnectListener({
    services,
    events,
    web: {
      cors: createCors([]),
      metrics,
      clock,
      longRequests: new LongRequestQueue(),
      maxRequestBodyBytes: 1_000,
    },
    logger,
  });
  const { port } = await listen([], http);
  return {
    world,
    events,
    call: (version, path, headers, body) => new FramedAnswer(port, version, path, headers, body),
  };
}

export const versions: readonly Version[] = ["HTTP/1.1", "HTTP/2"];
export const eventStream = (service: string): string => `/${service}/EventStream`;
export const v2Stream = eventStream("flagd.evaluation.v2.Service");
export const resolve = "/flagd.evaluation.v2.Service/ResolveBoolean";
export const json = (type: string): Readonly<Record<string, string>> => ({ "content-type": type });
export const none = frameMessage(Buffer.alloc(0));
export const trailersOf = ({ flags, payload }: Frame): string => {
  expect(flags).to.equal(0x80);
  return payload.toString();
};
