import {
  decodeSyncFlagsResponse,
  encodeSyncFlagsRequest,
  syncFlagsPath,
  type SyncFlagsRequest,
} from "./flagd-wire.js";
import { runCall, type CallEnd, type StreamCall } from "./stream-call.js";
import type { SyncChannel } from "./sync-channel.js";

export interface SyncFlagsCall extends Pick<StreamCall, "headers" | "clock" | "connectTimeoutMs" | "opened"> {
  readonly request: SyncFlagsRequest;
  /** `document` shares memory with the message it came in. */
  received(document: Buffer, messageBytes: number): void;
}

/** A SyncFlags stream of flagd.sync.v1; see runCall. The selector is sent as a header too, where newer servers look for it. */
export function callSyncFlags(
  channel: SyncChannel,
  call: SyncFlagsCall,
  signal: AbortSignal,
): Promise<CallEnd> {
  const { request, headers, clock, connectTimeoutMs } = call;
  return runCall(
    channel,
    {
      clock,
      connectTimeoutMs,
      headers: request.selector === "" ? headers : { ...headers, "flagd-selector": request.selector },
      messageName: "SyncFlagsResponse",
      open: (client, metadata) =>
        client.makeServerStreamRequest(
          syncFlagsPath,
          encodeSyncFlagsRequest,
          (message) => message,
          request,
          metadata,
        ),
      opened: () => call.opened(),
      received: (message) => call.received(decodeSyncFlagsResponse(message), message.length),
    },
    signal,
  );
}
