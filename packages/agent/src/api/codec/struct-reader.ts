import type { JsonObject, JsonValue } from "@bunting/protocol";
import { maxNesting, maxValues } from "../nesting.js";
import { malformed, wireType, type WireReader } from "./wire-reader.js";

/**
 * Reads google.protobuf.Struct directly into plain JSON, without intermediate message objects, which are most of the cost of a request.
 * Numbers that JSON can't express become strings, as in Go's AsInterface.
 */

const fieldsEntry = (1 << 3) | wireType.bytes;
const entryKey = (1 << 3) | wireType.bytes;
const entryValue = (2 << 3) | wireType.bytes;
const listValues = (1 << 3) | wireType.bytes;

const nullValue = (1 << 3) | wireType.varint;
const numberValue = (2 << 3) | wireType.fixed64;
const stringValue = (3 << 3) | wireType.bytes;
const boolValue = (4 << 3) | wireType.varint;
const structValue = (5 << 3) | wireType.bytes;
const listValue = (6 << 3) | wireType.bytes;

/** Reads a Struct up to `end`; `into` collects the fields of a Struct that comes in several pieces. */
export function readStruct(reader: WireReader, end: number, into: JsonObject = {}, depth = 1): JsonObject {
  if (depth > maxNesting) throw malformed(`its values are nested more than ${maxNesting} levels deep`);
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (tag === fieldsEntry) readEntry(reader, reader.messageEnd(end), into, depth);
    else reader.skip(tag, end);
  }
  return into;
}

function readEntry(reader: WireReader, end: number, into: JsonObject, depth: number): void {
  let key = "";
  let value: JsonValue = null;
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (tag === entryKey) key = reader.key(end);
    else if (tag === entryValue) value = readValue(reader, reader.messageEnd(end), depth);
    else reader.skip(tag, end);
  }
  setMember(into, key, value);
}

function readValue(reader: WireReader, end: number, depth: number): JsonValue {
  if (++reader.values > maxValues) throw malformed(`it has more than ${maxValues} values`);
  let value: JsonValue = null;
  while (reader.at < end) {
    const tag = reader.tag(end);
    switch (tag) {
      case stringValue:
        value = reader.string(end);
        break;
      case numberValue:
        value = jsonNumber(reader.double(end));
        break;
      case boolValue:
        value = reader.bool(end);
        break;
      case structValue:
        value = readStruct(reader, reader.messageEnd(end), {}, depth + 1);
        break;
      case listValue:
        value = readList(reader, reader.messageEnd(end), depth + 1);
        break;
      case nullValue:
        reader.varint(end);
        value = null;
        break;
      default:
        reader.skip(tag, end);
    }
  }
  return value;
}

function readList(reader: WireReader, end: number, depth: number): JsonValue {
  if (depth > maxNesting) throw malformed(`its values are nested more than ${maxNesting} levels deep`);
  const values: JsonValue[] = [];
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (tag === listValues) values.push(readValue(reader, reader.messageEnd(end), depth));
    else reader.skip(tag, end);
  }
  return values;
}

function jsonNumber(value: number): JsonValue {
  return Number.isFinite(value) ? value : String(value);
}

/** Defines `__proto__` as an own member, as JSON.parse does: an assignment would set the prototype. */
function setMember(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else (object as Record<string, JsonValue>)[key] = value;
}
