import {
  evaluationV1,
  evaluationV2,
  healthV1,
  isJsonObject,
  schemaV1,
  syncV1,
  type JsonValue,
} from "@bunting/protocol";
import { canonicalValue, withoutWording } from "./canonical-value.js";

interface MessageType {
  decode(bytes: Uint8Array): object;
}

const messageTypes: Readonly<Record<string, object>> = {
  "grpc.health.v1.Health": healthV1,
  "flagd.sync.v1.FlagSyncService": syncV1,
  "schema.v1.Service": schemaV1,
  "flagd.evaluation.v1.Service": evaluationV1,
  "flagd.evaluation.v2.Service": evaluationV2,
};

/** The type of the messages that a method answers with. */
export function responseTypeOf(path: string): MessageType | undefined {
  const [, service = "", method = ""] = /^\/([^/?]+)\/([^/?]+)/.exec(path) ?? [];
  const types = messageTypes[service] as Readonly<Record<string, MessageType>> | undefined;
  const isHealthStatus = service === "grpc.health.v1.Health" && method !== "List";
  const prefix = service === "grpc.health.v1.Health" ? "Health" : "";
  return types?.[isHealthStatus ? "HealthCheckResponse" : `${prefix}${method}Response`];
}

/** Members that hold what a flag document says: nothing in them is ours to interpret. */
const opaque: ReadonlySet<string> = new Set(["value", "objectValue", "metadata", "data", "syncContext"]);

const healthNames = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/** A protobuf message in its JSON form, with defaults filled in. */
export function decodeMessage(bytes: Buffer, type: MessageType | undefined): JsonValue {
  if (type === undefined) return { bytes: bytes.toString("base64") };
  try {
    return canonicalValue(plain(withPlainProto(() => type.decode(bytes))));
  } catch (error) {
    return { undecodable: (error as Error).message };
  }
}

/** Calls back while `__proto__` is a name as any other: generated code would set the prototype of its maps. */
function withPlainProto<T>(decode: () => T): T {
  const accessor = Object.getOwnPropertyDescriptor(Object.prototype, "__proto__");
  Reflect.deleteProperty(Object.prototype, "__proto__");
  try {
    return decode();
  } finally {
    Object.defineProperty(Object.prototype, "__proto__", accessor ?? {});
  }
}

/** A message of JSON: the document in it is compared as JSON too. */
export function parseJsonMessage(bytes: Buffer): JsonValue {
  try {
    return withoutWording(canonicalValue(plain(JSON.parse(bytes.toString()))));
  } catch {
    return { undecodable: bytes.toString().slice(0, 100) };
  }
}

/** Undoes what ts-proto does to oneofs and enums, and parses the flag documents that messages carry as text. */
function plain(message: unknown): unknown {
  if (message instanceof Map) return plain(Object.fromEntries(message));
  if (Array.isArray(message)) return message.map(plain);
  if (typeof message !== "object" || message === null) return message;
  return Object.fromEntries(
    Object.entries(message).flatMap(([key, value]): [string, unknown][] => {
      if (isOneof(value)) return [[value.$case, value.value]];
      if (key === "flagConfiguration" && typeof value === "string") return [[key, documentOf(value)]];
      if (key === "status" && typeof value === "number") return [[key, healthNames[value] ?? value]];
      if (opaque.has(key)) return [[key, value]];
      return [[key, plain(value)]];
    }),
  );
}

function isOneof(value: unknown): value is { readonly $case: string; readonly value: unknown } {
  return typeof value === "object" && value !== null && "$case" in value;
}

function documentOf(text: string): JsonValue {
  try {
    const document = JSON.parse(text) as JsonValue;
    return isJsonObject(document) ? document : `not an object: ${text}`;
  } catch {
    return text === "" ? "" : `not JSON: ${text.slice(0, 200)}`;
  }
}
