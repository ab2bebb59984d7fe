import {
  Metadata,
  status as statusCode,
  type Client,
  type ClientReadableStream,
  type StatusObject,
} from "@grpc/grpc-js";
import { cut, type Clock } from "@bunting/runtime";
import { MalformedMessageError } from "./message-fields.js";
import type { MessageBuffer } from "./message-buffer.js";
import { PacedReading } from "./paced-reading.js";
import type { SyncChannel } from "./sync-channel.js";

/** Parts that the streams of all protocols are given. */
export interface StreamParts {
  /** Headers of the request, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  /** Takes what the agent keeps secret out of a text that the server wrote. */
  readonly redact: (text: string) => string;
  readonly buffer: MessageBuffer;
}

/** A stream from a server, of any protocol. */
export interface StreamCall extends StreamParts {
  /** Opens the stream. `end` cancels it with the given result. */
  open(client: Client, metadata: Metadata, end: (end: CallEnd) => void): ClientReadableStream<Buffer>;
  /** The type of the messages, for error messages. */
  readonly messageName: string;
  /** Response headers have come: the stream is open, though there may be no document for a long time. */
  opened(): void;
  /** A MalformedMessageError ends the stream with a reason of its own. Until a promise settles, nothing more is read. */
  received(message: Buffer): void | Promise<void>;
}

/** End of a stream; the caller always opens another. */
export interface CallEnd {
  /** One of a small set of words. */
  readonly reason: string;
  readonly message: string;
  /** When the server wants the next attempt, in ms; undefined leaves it to the client. */
  readonly pushbackMs: number | undefined;
}

/**
 * Opens a stream and passes on its messages until it ends. Resolves after an abort too, with a meaningless end.
 *
 * @throws what `received` throws, after cancelling the stream
 */
export function runCall(channel: SyncChannel, call: StreamCall, signal: AbortSignal): Promise<CallEnd> {
  if (signal.aborted) return Promise.resolve(callEnd("aborted", "it was not wanted any more"));
  return new Promise((resolve, reject) => {
    // Set if the stream was cancelled on this side, so that its status is meaningless.
    const own: { end?: CallEnd; failure?: Error } = {};
    const cancel = (): void => stream.cancel();
    const endWith = (end: CallEnd): void => {
      own.end ??= end;
      cancel();
    };
    const stream = call.open(channel.client, metadataOf(call.headers), endWith);
    const reading = new PacedReading(stream, call.clock);
    call.buffer.readFrom(reading);
    const stopWatching = call.clock.after(call.connectTimeoutMs, () => {
      if (channel.isConnected) return;
      const seconds = call.connectTimeoutMs / 1_000;
      endWith(callEnd("connect_timeout", `no gRPC server has answered for ${seconds} s`));
    });
    signal.addEventListener("abort", cancel, { once: true });
    stream.on("metadata", (metadata) => {
      stopWatching();
      if (signal.aborted) return;
      if (isGrpc(metadata)) call.opened();
      else endWith(callEnd("not_grpc", "the peer is not a gRPC server: is it the right port?"));
    });
    const fail = (error: unknown): void => {
      if (error instanceof MalformedMessageError)
        endWith(callEnd("malformed", `received an invalid ${call.messageName}: ${error.message}`));
      else {
        own.failure ??= error as Error;
        cancel();
      }
    };
    // Messages that have been read already when one takes long.
    const waiting: Buffer[] = [];
    let isBusy = false;
    let isOver = false;
    const take = (message: Buffer): void => {
      if (signal.aborted || own.end !== undefined || own.failure !== undefined) return;
      if (isBusy) {
        waiting.push(message);
        return;
      }
      try {
        const taking = call.received(message);
        if (taking !== undefined) wait(taking);
      } catch (error) {
        fail(error);
      }
    };
    const wait = (taking: Promise<void>): void => {
      isBusy = true;
      reading.isBusy = true;
      void taking.catch(fail).then(() => {
        isBusy = false;
        reading.isBusy = false;
        const messages = waiting.splice(0);
        // After the end, the next stream may have said something newer.
        if (!isOver) for (const message of messages) take(message);
      });
    };
    stream.on("data", (message: Buffer) => call.buffer.pass(() => reading.handle(() => take(message))));
    // The status carries the same information.
    stream.on("error", () => undefined);
    stream.once("status", (status: StatusObject) => {
      stopWatching();
      signal.removeEventListener("abort", cancel);
      reading.end();
      isOver = true;
      if (own.failure === undefined) resolve(own.end ?? endOf(status, call.redact));
      else reject(own.failure);
    });
  });
}

export function callEnd(reason: string, message: string): CallEnd {
  return { reason, message, pushbackMs: undefined };
}

function metadataOf(headers: StreamCall["headers"]): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

/** A gateway, or a web server on the port, may answer 200 with a page. */
function isGrpc(metadata: Metadata): boolean {
  const contentType = metadata.get("content-type")[0];
  return contentType === undefined || contentType.toString().startsWith("application/grpc");
}

/** RESOURCE_EXHAUSTED can also come from grpc-js itself; its text says why. */
const ownReasons: readonly (readonly [details: string, reason: string])[] = [
  ["Received message larger than max", "too_large"],
  ["Bandwidth exhausted or memory limit exceeded", "enhance_your_calm"],
];

/** Said where grpc-js gives a status neither text nor number, whatever its type promises: it can't unpack a message. */
const notUnpacked = 'a message is compressed, but "grpc-encoding" is neither gzip nor deflate';

function endOf(
  { code, details = notUnpacked, metadata }: Partial<StatusObject> & Pick<StatusObject, "code" | "metadata">,
  redact: StreamParts["redact"],
): CallEnd {
  const pushback = metadata.get("grpc-retry-pushback-ms")[0];
  const pushbackMs =
    typeof pushback === "string" && /^\d{1,9}$/.test(pushback) ? Number(pushback) : undefined;
  if (code === statusCode.OK) return { reason: "ended", message: "the server ended the stream", pushbackMs };
  const reason = ownReasons.find(([text]) => details.startsWith(text))?.[1];
  if (code === statusCode.RESOURCE_EXHAUSTED && reason !== undefined)
    return { reason, message: cut(redact(details)), pushbackMs };
  // Before the text is cut, which may leave a part of a secret.
  const what = cut(redact(details.replace(/ Resolution note: $/, "")));
  const name = statusName(code);
  return { reason: name.toLowerCase(), message: what === "" ? name : `${name}: ${what}`, pushbackMs };
}

/** UNKNOWN for a number that is not a gRPC status: a server may send any. */
export function statusName(code: number): string {
  return statusCode[code] ?? "UNKNOWN";
}
