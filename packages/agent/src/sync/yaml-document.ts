import { canonicalJson, isJsonObject, type JsonValue } from "@bunting/protocol";

/** A file that is no flag document. */
export class FileDocumentError extends Error {
  override readonly name = "FileDocumentError";
}

/** True if files of this name are read as YAML. */
export function isYamlName(path: string): boolean {
  return /\.ya?ml$/i.test(path);
}

/**
 * Turns YAML into the bytes of the same document as JSON. The parser is loaded on first use: it costs 9 MB, and most agents never
 * see a YAML file.
 *
 * @throws FileDocumentError with line and column where there are any.
 */
export async function jsonOfYaml(bytes: Buffer): Promise<Buffer> {
  const { parse } = await import("yaml");
  let value: JsonValue | undefined;
  try {
    value = parse(bytes.toString()) as JsonValue | undefined;
  } catch (cause) {
    const [firstLine] = (cause as Error).message.split("\n");
    throw new FileDocumentError(firstLine?.replace(/:$/, "") ?? "not YAML", { cause });
  }
  if (!isJsonObject(value)) throw new FileDocumentError('a flag document is a mapping with the key "flags"');
  return Buffer.from(canonicalJson(value));
}
