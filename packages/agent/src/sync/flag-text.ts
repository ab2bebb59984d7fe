import { notText, utf8Of } from "@bunting/files/encoding";
import { jsonOfYaml, YamlDocumentError } from "./yaml-document.js";

export interface FlagTextOptions {
  readonly isYaml: boolean;
  /** How many bytes may become of it. */
  readonly maxJsonBytes: number;
  /** What reading YAML may take of the heap; what is free, if absent. */
  readonly heapBytes?: (() => number) | undefined;
}

/**
 * The text of a file or an answer as people write it, as the bytes of a flag document: JSON in UTF-8.
 *
 * @throws YamlDocumentError
 */
export async function documentOfText(bytes: Buffer, options: FlagTextOptions): Promise<Buffer> {
  const text = utf8Of(bytes);
  if (text === undefined) throw new YamlDocumentError("malformed", notText);
  return options.isYaml ? jsonOfYaml(text, options.maxJsonBytes, options.heapBytes) : text;
}
