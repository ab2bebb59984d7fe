import {
  decodeSyncFlagsResponse,
  encodeSyncFlagsRequest,
  syncFlagsPath,
  type SyncFlagsRequest,
} from "./flagd-wire.js";
import { runCall, type CallEnd, type StreamCall, type StreamParts } from "./stream-call.js";
import type { SyncChannel } from "./sync-channel.js";

export interface SyncFlagsCall extends StreamParts, Pick<StreamCall, "opened"> {
  readonly request: SyncFlagsRequest;
  /** `document` shares memory with the message it came in. Until a promise settles, nothing more is read. */
  received(document: Buffer, messageBytes: number): void | Promise<void>;
}

/**
 * A SyncFlags stream of flagd.sync.v1; see runCall. The selector is sent as a header too, where newer servers look for it, unless the source has
 * such a header: flagd sends the selector in the field only, so with it that header decides.
 */
export function callSyncFlags(
  channel: SyncChannel,
  call: SyncFlagsCall,
  signal: AbortSignal,
): Promise<CallEnd> {
  const { request } = call;
  const selected = request.selector === "" ? {} : { "flagd-selector": request.selector };
  return runCall(
    channel,
    {
      ...call,
      headers: { ...selected, ...call.headers },
      messageName: "SyncFlagsResponse",
      open: (client, metadata) =>
        client.makeServerStreamRequest(
          syncFlagsPath,
          encodeSyncFlagsRequest,
          (message) => message,
          request,
          metadata,
        ),
      received: (message) => call.received(decodeSyncFlagsResponse(message), message.length),
    },
    signal,
  );
}
