import {
  normaliseDocument,
  ProtocolError,
  type DocumentWarning,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";
import { errorAt, type ManifestFlags, type ManifestPlace, type ReadPlace } from "./manifest.js";

/** Reads a flagd document, which lies at `below` in the place, for the topic. */
export function readFlags(
  place: ManifestPlace,
  topic: TopicKey,
  value: JsonValue,
  below: readonly string[] = [],
): ReadPlace {
  try {
    const { document, warnings } = normaliseDocument(value);
    const flags = placed(place, topic, { document, written: value }, below);
    return {
      flags,
      warnings: warnings.map((warning) => ({
        kind: isStrippedMetadata(warning) ? "stripped_metadata" : "other",
        ...flags.positionOf(warning.path),
        message: warning.message,
      })),
    };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return errorAt(place, "document", error.message, [...below, ...error.path], topic);
  }
}

/** Flags with the way back to the file, in which their document lies at `below` in the place. */
export function placed(
  { document, path }: ManifestPlace,
  topic: TopicKey,
  flags: Pick<ManifestFlags, "document" | "written">,
  below: readonly string[] = [],
): ManifestFlags {
  return {
    ...flags,
    topic,
    ...document.positionOf(path),
    positionOf: (inner) => document.positionOf([...path, ...below, ...inner]),
  };
}

function isStrippedMetadata({ path }: DocumentWarning): boolean {
  return path.at(-2) === "metadata";
}
