import {
  normaliseDocument,
  ProtocolError,
  type DocumentWarning,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";
import { errorAt, type Place, type ReadPlace } from "./manifest.js";

/** Reads a flagd document, which lies at `below` in the place, for the topic. */
export function readFlags(
  place: Place,
  topic: TopicKey,
  value: JsonValue,
  below: readonly string[] = [],
): ReadPlace {
  const lineOf = (path: readonly string[]): number =>
    place.document.lineOf([...place.path, ...below, ...path]);
  try {
    const { document, warnings } = normaliseDocument(value);
    return {
      flags: { topic, document, line: place.document.lineOf(place.path) },
      warnings: warnings.map((warning) => ({
        kind: isStrippedMetadata(warning) ? "stripped_metadata" : "other",
        line: lineOf(warning.path),
        message: warning.message,
      })),
    };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return errorAt(place, "document", error.message, [...below, ...error.path], topic);
  }
}

function isStrippedMetadata({ path }: DocumentWarning): boolean {
  return path.at(-2) === "metadata";
}
