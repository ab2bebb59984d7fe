import { readFields, textField } from "./protobuf.js";

export const syncFlagsPath = "/flagd.sync.v1.FlagSyncService/SyncFlags";

export interface SyncFlagsRequest {
  readonly providerId: string;
  readonly selector: string;
}

export function encodeSyncFlagsRequest({ providerId, selector }: SyncFlagsRequest): Buffer {
  return Buffer.concat([textField(1, providerId), textField(2, selector)]);
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
