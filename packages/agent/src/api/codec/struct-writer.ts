import type { JsonObject, JsonValue } from "@bunting/protocol";
import { WireWriter } from "./wire-writer.js";

/** Encodes plain JSON as google.protobuf.Struct. Members keep their order. */
export function encodeStruct(object: JsonObject): Buffer {
  const writer = new WireWriter();
  writeStruct(writer, object);
  return writer.finish();
}

/** Writes the fields of a Struct, without a length prefix. */
function writeStruct(writer: WireWriter, object: JsonObject): void {
  const keys = Object.keys(object);
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] ?? "";
    const before = writer.written;
    writeValue(writer, object[key] ?? null, 2);
    if (key !== "") writer.stringField(1, key);
    writer.message(1, before);
  }
}

function writeValue(writer: WireWriter, value: JsonValue, field: number): void {
  const before = writer.written;
  switch (typeof value) {
    case "string":
      writer.stringField(3, value);
      break;
    case "number":
      writer.doubleField(2, value);
      break;
    case "boolean":
      writer.boolField(4, value);
      break;
    default:
      if (value === null) writer.varintField(1, 0);
      else if (Array.isArray(value)) {
        const list = value as readonly JsonValue[];
        for (let i = list.length - 1; i >= 0; i--) writeValue(writer, list[i] ?? null, 1);
        writer.message(6, before);
      } else {
        writeStruct(writer, value as JsonObject);
        writer.message(5, before);
      }
  }
  writer.message(field, before);
}
