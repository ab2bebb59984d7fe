import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { asBuffer, readFields } from "./message-fields.js";

export const syncFlagsPath = "/flagd.sync.v1.FlagSyncService/SyncFlags";

export interface SyncFlagsRequest {
  readonly providerId: string;
  readonly selector: string;
}

export function encodeSyncFlagsRequest({ providerId, selector }: SyncFlagsRequest): Buffer {
  const len = WireType.LengthDelimited;
  return asBuffer(new BinaryWriter().tag(1, len).string(providerId).tag(2, len).string(selector).finish());
}

/**
 * Finds the `flag_configuration` of a SyncFlagsResponse: JSON in UTF-8, in memory shared with the message. Like any protobuf reader this
 * takes the last of several and skips the other fields.
 *
 * @throws MalformedMessageError
 */
export function decodeSyncFlagsResponse(message: Buffer): Buffer {
  let document = message.subarray(0, 0);
  readFields(message, (field, value) => {
    if (field === 1 && typeof value !== "number") document = value;
  });
  return document;
}
