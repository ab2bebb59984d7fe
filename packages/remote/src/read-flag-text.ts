import { defaultTextLimits, readYaml } from "@bunting/files/yaml";
import { isNestedDeeper } from "@bunting/outbound";
import {
  emptiedBy,
  maxDocumentDepth,
  readDocument,
  type FlagDocument,
  type JsonValue,
} from "@bunting/protocol";
import { RemoteDocumentError } from "./remote-error.js";

/** Objects around a flag: the document, and its flags. */
const depthAround = 2;

/**
 * The flags of a text that a remote sent. A flag that can't be served is left out, so that the FeatureFlag's own of that key, if it has one, is
 * served.
 *
 * @throws RemoteDocumentError
 */
export async function readFlagText(text: Buffer, isYaml: boolean, maxBytes: number): Promise<FlagDocument> {
  return flagsIn(isYaml ? await yamlValue(text, maxBytes) : jsonValue(text));
}

/** @throws RemoteDocumentError */
export function jsonValue(text: Buffer): JsonValue {
  if (isNestedDeeper(text, maxDocumentDepth + depthAround))
    throw new RemoteDocumentError(`the remote sent JSON of more than ${maxDocumentDepth} levels`);
  try {
    return JSON.parse(text.toString()) as JsonValue;
  } catch {
    // What node says repeats a part of the text.
    throw new RemoteDocumentError("the remote sent what is no JSON, or only a part of it");
  }
}

/** @throws RemoteDocumentError */
export function flagsIn(value: JsonValue): FlagDocument {
  try {
    const read = readDocument(value);
    const emptied = emptiedBy(read);
    if (emptied !== undefined) throw emptied;
    return read.document;
  } catch (cause) {
    throw new RemoteDocumentError(`what the remote sent can't be served: ${(cause as Error).message}`, {
      cause,
    });
  }
}

async function yamlValue(text: Buffer, maxBytes: number): Promise<JsonValue> {
  const read = await readYaml(text.toString(), { ...defaultTextLimits, maxJsonBytes: maxBytes });
  if (read.kind === "error")
    throw new RemoteDocumentError(`the remote sent YAML that can't be read: ${read.message}`);
  const [document, ...more] = read.documents.filter(({ value }) => value !== null);
  if (document === undefined || more.length > 0)
    throw new RemoteDocumentError("the remote sent YAML that is not one document");
  return document.value;
}
