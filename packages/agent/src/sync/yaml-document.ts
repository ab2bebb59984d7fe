import { canonicalJson, isJsonObject } from "@bunting/protocol";
import { CodedError } from "@bunting/runtime";

/** Reasons for which a YAML file is not used; logs and metrics have the same words. */
export type YamlDocumentErrorCode =
  | "malformed" // it is no flag document.
  | "too_large"; // there is not enough memory to read it.

/** Why a YAML file is not used. */
export class YamlDocumentError extends CodedError<YamlDocumentErrorCode> {
  override readonly name = "YamlDocumentError";
}

/**
 * Turns YAML 1.2 into the bytes of the same document as JSON. The reader is loaded on first use: it costs 9 MB, and most agents never see a
 * YAML file.
 *
 * @param maxJsonBytes how many bytes may become of it
 * @param heapBytes what reading may take; what is free, if absent
 * @throws YamlDocumentError
 */
export async function jsonOfYaml(
  bytes: Buffer,
  maxJsonBytes: number,
  heapBytes?: () => number,
): Promise<Buffer> {
  const { readYaml, defaultTextLimits } = await import("@bunting/files/yaml");
  const text = await readYaml(bytes.toString(), {
    ...defaultTextLimits,
    maxJsonBytes,
    ...(heapBytes === undefined ? {} : { heapBytes }),
  });
  if (text.kind === "error") {
    const { reason, message, line, column } = text;
    if (reason === "too_large") throw new YamlDocumentError("too_large", message);
    throw new YamlDocumentError("malformed", `line ${line}, column ${column}: ${message}`);
  }
  // Marks at the beginning or the end make documents that hold nothing.
  const [document, second] = text.documents.filter(({ value }) => value !== null);
  if (second !== undefined)
    throw new YamlDocumentError("malformed", "it holds several YAML documents, but a source is one document");
  const value = document?.value;
  if (!isJsonObject(value))
    throw new YamlDocumentError("malformed", 'a flag document is a mapping with the key "flags"');
  return Buffer.from(canonicalJson(value));
}
