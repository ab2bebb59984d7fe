import { Struct, type JsonObject } from "@bunting/protocol";

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

/** Bytes that are no protobuf message. */
export class MalformedMessageError extends Error {
  override readonly name = "MalformedMessageError";
}

const wireType = { varint: 0, fixed64: 1, lengthDelimited: 2, fixed32: 5 } as const;

export function encodeSyncFlagsRequest({ providerId, selector }: SyncFlagsRequest): Buffer {
  return Buffer.concat([textField(1, providerId), textField(2, selector)]);
}

/**
 * Takes a SyncFlagsResponse apart by hand: the generated code would make a JavaScript string of a document of megabytes, of which the
 * store wants the bytes. Like any protobuf reader it lets the last of several fields win and skips those it does not know.
 *
 * @throws MalformedMessageError
 */
export function decodeSyncFlagsResponse(message: Buffer): SyncFlagsResponse {
  let document = message.subarray(0, 0);
  let context: JsonObject | undefined;
  let at = 0;
  while (at < message.length) {
    const tag = readVarint(message, at);
    at = tag.end;
    const field = Math.floor(tag.value / 8);
    const type = tag.value % 8;
    if (field === 0) throw new MalformedMessageError("field number 0");
    if (type === wireType.lengthDelimited) {
      const length = readVarint(message, at);
      const end = length.end + length.value;
      if (end > message.length) throw cutOff();
      if (field === 1) document = message.subarray(length.end, end);
      else if (field === 2) context = { ...context, ...readContext(message.subarray(length.end, end)) };
      at = end;
    } else {
      at = skip(message, at, type);
    }
  }
  return { document, context };
}

function readContext(bytes: Buffer): JsonObject {
  try {
    return Struct.unwrap(Struct.decode(bytes));
  } catch (cause) {
    throw new MalformedMessageError("sync_context is no Struct", { cause });
  }
}

function skip(message: Buffer, at: number, type: number): number {
  let end: number;
  if (type === wireType.varint) end = readVarint(message, at).end;
  else if (type === wireType.fixed64) end = at + 8;
  else if (type === wireType.fixed32) end = at + 4;
  else throw new MalformedMessageError(`wire type ${type}`);
  if (end > message.length) throw cutOff();
  return end;
}

/** Above 2^53 the value is not exact; the lengths it stands for are beyond the end of the message anyway. */
function readVarint(message: Buffer, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  let factor = 1;
  for (let at = start; at < start + 10; at++) {
    const byte = message[at];
    if (byte === undefined) throw cutOff();
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return { value, end: at + 1 };
    factor *= 128;
  }
  throw new MalformedMessageError("a varint of more than 10 bytes");
}

function textField(field: number, text: string): Buffer {
  if (text === "") return Buffer.alloc(0);
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([field * 8 + wireType.lengthDelimited]), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80);
  return Buffer.from([...bytes, value]);
}

function cutOff(): MalformedMessageError {
  return new MalformedMessageError("the message is cut off");
}
