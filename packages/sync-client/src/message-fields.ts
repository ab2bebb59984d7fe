import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Bytes that are not a protobuf message. */
export class MalformedMessageError extends Error {
  override readonly name = "MalformedMessageError";
}

/**
 * Calls `take` for each field of a message, in their order: an int32 as a number, a field with a length as bytes that share memory with the
 * message. Fields of other types are skipped. Generated code is not used because it makes a JavaScript string of each document, which may
 * be megabytes, and drops the fields it does not know, which a version must keep.
 *
 * @throws MalformedMessageError
 */
export function readFields(message: Buffer, take: (field: number, value: Buffer | number) => void): void {
  try {
    const reader = new BinaryReader(message);
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (type === WireType.LengthDelimited) take(field, asBuffer(reader.bytes()));
      else if (type === WireType.Varint) take(field, reader.int32());
      else reader.skip(type, field);
    }
  } catch (cause) {
    if (cause instanceof MalformedMessageError) throw cause;
    // BinaryReader throws a RangeError where the bytes end too early.
    const reason = cause instanceof RangeError ? "the message is cut off" : (cause as Error).message;
    throw new MalformedMessageError(reason, { cause });
  }
}

/** The same memory, with the methods of a Buffer. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
