import {
  normaliseDocument,
  ProtocolError,
  type DocumentWarning,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";
import { objectError, type ObjectReading } from "./object-reading.js";

/** Reads a flagd document, which lies at the path in its object, for the topic. */
export function readFlags(topic: TopicKey, value: JsonValue, path: readonly string[] = []): ObjectReading {
  try {
    const { document, warnings } = normaliseDocument(value);
    return {
      flags: { topic, document, written: value, path },
      warnings: warnings.map((warning) => ({
        kind: isStrippedMetadata(warning) ? "stripped_metadata" : "other",
        path: [...path, ...warning.path],
        message: warning.message,
      })),
    };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return objectError("document", error.message, [...path, ...error.path], topic);
  }
}

function isStrippedMetadata({ path }: DocumentWarning): boolean {
  return path.at(-2) === "metadata";
}
