import {
  emptiedBy,
  ProtocolError,
  readDocument,
  type DocumentWarning,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";
import { nearestWord, quoted } from "@bunting/runtime/options";
import { objectError, type ObjectReading } from "./object-reading.js";

/** Reads the flagd document of a topic. The path is the document's place in its object. */
export function readFlags(topic: TopicKey, value: JsonValue, path: readonly string[] = []): ObjectReading {
  try {
    const read = readDocument(value);
    const { document, warnings, refused } = read;
    if (emptiedBy(read) !== undefined) {
      const [first, ...more] = refused.flatMap(({ problems }) =>
        problems.map(({ path: at, message }) => objectError("document", message, [...path, ...at], topic)),
      );
      if (first !== undefined) return { ...first, more };
    }
    return {
      flags: { topic, document, written: value, path, ...(refused.length === 0 ? {} : { refused }) },
      warnings: warnings.map((warning) => ({
        kind: isStrippedMetadata(warning) ? "stripped_metadata" : "other",
        path: [...path, ...warning.path],
        message: `${warning.message}${hintOf(warning)}`,
      })),
    };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return objectError("document", error.message, [...path, ...error.path], topic);
  }
}

/** Names the field that was probably meant, if the warning is about an unknown field of the document. */
function hintOf({ path: [field, ...inner] }: DocumentWarning): string {
  const meant = field === undefined || inner.length > 0 ? undefined : nearestWord(field, documentFields);
  return meant === undefined || meant === field ? "" : `: did you mean ${quoted(meant)}?`;
}

const documentFields = ["flags", "metadata", "$evaluators"];

function isStrippedMetadata({ path }: DocumentWarning): boolean {
  return path.at(-2) === "metadata";
}
