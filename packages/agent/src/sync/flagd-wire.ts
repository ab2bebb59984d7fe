import { Struct, type JsonObject } from "@bunting/protocol";
import { MalformedMessageError, readFields, textField } from "./protobuf.js";

export const syncFlagsPath = "/flagd.sync.v1.FlagSyncService/SyncFlags";

export interface SyncFlagsRequest {
  readonly providerId: string;
  readonly selector: string;
}

export interface SyncFlagsResponse {
  /** `flag_configuration` as it came: JSON in UTF-8. Shares memory with the message. */
  readonly document: Buffer;
  readonly context: JsonObject | undefined;
}

export function encodeSyncFlagsRequest({ providerId, selector }: SyncFlagsRequest): Buffer {
  return Buffer.concat([textField(1, providerId), textField(2, selector)]);
}

/**
 * Takes a SyncFlagsResponse apart. Like any protobuf reader it lets the last of several documents win and skips what it does not know.
 *
 * @throws MalformedMessageError
 */
export function decodeSyncFlagsResponse(message: Buffer): SyncFlagsResponse {
  let document = message.subarray(0, 0);
  let context: JsonObject | undefined;
  readFields(message, (field, value) => {
    if (typeof value === "number") return;
    if (field === 1) document = value;
    else if (field === 2) context = { ...context, ...readContext(value) };
  });
  return { document, context };
}

function readContext(bytes: Buffer): JsonObject {
  try {
    return Struct.unwrap(Struct.decode(bytes));
  } catch (cause) {
    throw new MalformedMessageError("sync_context is no Struct", { cause });
  }
}
