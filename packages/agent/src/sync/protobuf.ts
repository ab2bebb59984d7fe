/** Bytes that are no protobuf message. */
export class MalformedMessageError extends Error {
  override readonly name = "MalformedMessageError";
}

const wireType = { varint: 0, fixed64: 1, lengthDelimited: 2, fixed32: 5 } as const;

/**
 * Takes a message apart, field by field in the order they came: those with a length as bytes that share memory with the message, varints
 * as numbers. Fields of other types are skipped. Generated code would make JavaScript strings of documents of megabytes, and is itself
 * more memory than the few messages are worth.
 *
 * @throws MalformedMessageError
 */
export function readFields(message: Buffer, take: (field: number, value: Buffer | number) => void): void {
  let at = 0;
  while (at < message.length) {
    const tag = readVarint(message, at);
    const field = Math.floor(tag.value / 8);
    const type = tag.value % 8;
    if (field === 0) throw new MalformedMessageError("field number 0");
    if (type === wireType.lengthDelimited) {
      const length = readVarint(message, tag.end);
      at = length.end + length.value;
      if (at > message.length) throw cutOff();
      take(field, message.subarray(length.end, at));
    } else if (type === wireType.varint) {
      const number = readVarint(message, tag.end);
      at = number.end;
      take(field, number.value);
    } else {
      at = skipFixed(message, tag.end, type);
    }
  }
}

/** A field of bytes, or of text, that is there even if it is empty. */
export function bytesField(field: number, content: Buffer | string): Buffer {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return Buffer.concat([Buffer.from([field * 8 + wireType.lengthDelimited]), varint(bytes.length), bytes]);
}

/** As proto3 writes text: "" is not there at all. */
export function textField(field: number, text: string): Buffer {
  return text === "" ? Buffer.alloc(0) : bytesField(field, text);
}

/** As proto3 writes an unsigned number: 0 is not there at all. */
export function numberField(field: number, value: number): Buffer {
  return value === 0 ? Buffer.alloc(0) : Buffer.from([field * 8 + wireType.varint, ...varint(value)]);
}

export function booleanField(field: number, value: boolean): Buffer {
  return value ? Buffer.from([field * 8 + wireType.varint, 1]) : Buffer.alloc(0);
}

function skipFixed(message: Buffer, at: number, type: number): number {
  let end: number;
  if (type === wireType.fixed64) end = at + 8;
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

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80);
  return Buffer.from([...bytes, value]);
}

function cutOff(): MalformedMessageError {
  return new MalformedMessageError("the message is cut off");
}
