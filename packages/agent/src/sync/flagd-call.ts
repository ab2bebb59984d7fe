import { Metadata, status as statusCode, type StatusObject } from "@grpc/grpc-js";
import type { Clock } from "@bunting/runtime";
import type { SyncChannel } from "./sync-channel.js";
import {
  decodeSyncFlagsResponse,
  encodeSyncFlagsRequest,
  MalformedMessageError,
  syncFlagsPath,
  type SyncFlagsRequest,
  type SyncFlagsResponse,
} from "./sync-wire.js";

export interface SyncCall {
  readonly request: SyncFlagsRequest;
  /** Headers besides `flagd-selector`, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** How long a connection may take to come about, in ms. */
  readonly connectTimeoutMs: number;
  /** Response headers have come: the stream stands, though there may be no document for a long time. */
  opened(): void;
  received(response: SyncFlagsResponse): void;
}

/** How a stream ended. It ends whatever happens, and every end is a reason to open another. */
export interface SyncCallEnd {
  /** One of a small set of words. */
  readonly reason: string;
  readonly message: string;
  /** When the server wants the next try, in ms; undefined leaves it to the client. */
  readonly pushbackMs: number | undefined;
}

/**
 * Opens one SyncFlags stream and passes on what comes until it ends. Resolves after an abort too, with an end that means nothing.
 *
 * @throws what `received` throws; the stream is cancelled then.
 */
export function callSyncFlags(
  channel: SyncChannel,
  call: SyncCall,
  signal: AbortSignal,
): Promise<SyncCallEnd> {
  return new Promise((resolve, reject) => {
    const stream = channel.client.makeServerStreamRequest(
      syncFlagsPath,
      encodeSyncFlagsRequest,
      (message) => message,
      call.request,
      metadataOf(call),
    );
    // Set where the stream was cancelled on this side, so that its status says nothing.
    const own: { end?: SyncCallEnd; failure?: Error } = {};
    const cancel = (): void => stream.cancel();
    const stopWatching = call.clock.after(call.connectTimeoutMs, () => {
      if (channel.isConnected) return;
      const seconds = call.connectTimeoutMs / 1_000;
      own.end = endWith("connect_timeout", `no gRPC server has answered for ${seconds} s`);
      cancel();
    });
    signal.addEventListener("abort", cancel, { once: true });
    stream.on("metadata", (metadata) => {
      stopWatching();
      if (signal.aborted) return;
      if (isGrpc(metadata)) {
        call.opened();
        return;
      }
      own.end = endWith("not_grpc", "what answers there is no gRPC server: is it the right port?");
      cancel();
    });
    stream.on("data", (message: Buffer) => {
      if (signal.aborted || own.end !== undefined || own.failure !== undefined) return;
      try {
        call.received(decodeSyncFlagsResponse(message));
      } catch (error) {
        if (error instanceof MalformedMessageError)
          own.end = endWith("malformed", `what came is no SyncFlagsResponse: ${error.message}`);
        else own.failure = error as Error;
        cancel();
      }
    });
    // Its status tells the same.
    stream.on("error", () => undefined);
    stream.once("status", (status: StatusObject) => {
      stopWatching();
      signal.removeEventListener("abort", cancel);
      if (own.failure === undefined) resolve(own.end ?? endOf(status));
      else reject(own.failure);
    });
  });
}

function metadataOf({ request, headers }: SyncCall): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  if (request.selector !== "") metadata.set("flagd-selector", request.selector);
  return metadata;
}

/** A server in front of another, or a web server on the port, answers 200 with a page. */
function isGrpc(metadata: Metadata): boolean {
  const contentType = metadata.get("content-type")[0];
  return contentType === undefined || contentType.toString().startsWith("application/grpc");
}

/** What RESOURCE_EXHAUSTED stands for where grpc-js made it up. */
const ownReasons: readonly (readonly [details: string, reason: string])[] = [
  ["Received message larger than max", "too_large"],
  ["Bandwidth exhausted or memory limit exceeded", "enhance_your_calm"],
];

function endOf({ code, details, metadata }: StatusObject): SyncCallEnd {
  const pushback = metadata.get("grpc-retry-pushback-ms")[0];
  const pushbackMs =
    typeof pushback === "string" && /^\d{1,9}$/.test(pushback) ? Number(pushback) : undefined;
  if (code === statusCode.OK) return { reason: "ended", message: "the server ended the stream", pushbackMs };
  const reason = ownReasons.find(([text]) => details.startsWith(text))?.[1];
  if (code === statusCode.RESOURCE_EXHAUSTED && reason !== undefined)
    return { reason, message: details, pushbackMs };
  // A server may send any number.
  const name = (statusCode[code] as string | undefined) ?? "UNKNOWN";
  const what = details.replace(/ Resolution note: $/, "");
  return { reason: name.toLowerCase(), message: what === "" ? name : `${name}: ${what}`, pushbackMs };
}

function endWith(reason: string, message: string): SyncCallEnd {
  return { reason, message, pushbackMs: undefined };
}
