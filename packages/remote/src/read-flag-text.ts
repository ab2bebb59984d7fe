import { defaultTextLimits, readYaml } from "@bunting/files/yaml";
import { isNestedDeeper } from "@bunting/outbound";
import {
  documentHeapBytes,
  emptiedBy,
  maxDocumentDepth,
  normalisingWritten,
  type JsonValue,
  type RefusedFlag,
} from "@bunting/protocol";
import {
  cut,
  FairTurns,
  nextTurn,
  quoted,
  runInSlices,
  singleLine,
  type DocumentRoom,
} from "@bunting/runtime";
import type { RemoteFlags, RemoteReading } from "./remote-kind.js";
import { RemoteDocumentError } from "./remote-error.js";

/** Objects around a flag: the document, and its flags. */
const depthAround = 2;
/** A megabyte of YAML holds everything up for as long as a hundred of JSON. */
const maxYamlBytes = 1024 * 1024;

export interface TextBounds {
  /** Of a document. */
  readonly bytes: number;
  /** The heap that there is for what becomes of a text: a remote may send a gigabyte of objects in some kilobytes. */
  readonly room: Pick<DocumentRoom, "has">;
}

const reading = new FairTurns();

/**
 * Reads what remotes sent one after the other: several would count on the same free heap, and the slices of a hundred that have come together would
 * be one long turn of the event loop. Who has many large remotes delays others by one of them.
 */
export function inTurn<Result>(
  { owner }: Pick<RemoteReading, "owner">,
  read: () => Promise<Result>,
): Promise<Result> {
  return reading.run(owner, async () => {
    await nextTurn();
    return read();
  });
}

/**
 * The flags of a text that a remote sent. A flag that can't be served is left out, so that the FeatureFlag's own of that key, if it has one, is
 * served.
 *
 * @throws RemoteDocumentError
 */
export async function readFlagText(text: Buffer, isYaml: boolean, bounds: TextBounds): Promise<RemoteFlags> {
  return flagsIn(isYaml ? await yamlValue(text, bounds) : jsonValue(text, bounds));
}

/** @throws RemoteDocumentError */
export function jsonValue(text: Buffer, bounds: TextBounds): JsonValue {
  requireRoom(text, bounds);
  try {
    return JSON.parse(text.toString()) as JsonValue;
  } catch {
    // What node says repeats a part of the text.
    throw new RemoteDocumentError("the remote sent what is no JSON, or only a part of it");
  }
}

/**
 * Checks that a text of JSON may be read at all.
 *
 * @throws RemoteDocumentError
 */
export function requireRoom(text: Buffer, { room }: Pick<TextBounds, "room">): void {
  if (isNestedDeeper(text, maxDocumentDepth + depthAround))
    throw new RemoteDocumentError(`the remote sent JSON of more than ${maxDocumentDepth} levels`);
  if (!room.has(documentHeapBytes(text)))
    throw new RemoteDocumentError(
      `the remote sent ${text.length} bytes, which need more heap than is free: raise the memory limit of what reads it, or serve fewer flags`,
    );
}

/**
 * In slices of the event loop: a remote may have a million flags.
 *
 * @throws RemoteDocumentError
 */
export async function flagsIn(value: JsonValue): Promise<RemoteFlags> {
  try {
    const refused: RefusedFlag[] = [];
    const read = await runInSlices(normalisingWritten(value, (flag) => refused.push(flag)));
    const emptied = emptiedBy({ ...read, refused });
    if (emptied !== undefined) throw emptied;
    return { document: read.document, leftOut: leftOut(refused) };
  } catch (cause) {
    throw new RemoteDocumentError(`what the remote sent can't be served: ${(cause as Error).message}`, {
      cause,
    });
  }
}

const mostNamed = 3;

/** Says which flags are left out, and why the first ones are; undefined without any. */
export function leftOut(refused: readonly RefusedFlag[]): string | undefined {
  if (refused.length === 0) return undefined;
  const named = refused
    .slice(0, mostNamed)
    .map(({ key, problems }) => `${quoted(key)} (${singleLine(problems[0]?.message ?? "")})`);
  const more = refused.length > mostNamed ? ` and ${refused.length - mostNamed} more` : "";
  return cut(
    `what the remote sent can't be served as ${refused.length === 1 ? "a flag" : "flags"}, and is left out: ${named.join(", ")}${more}`,
  );
}

async function yamlValue(text: Buffer, { bytes }: TextBounds): Promise<JsonValue> {
  if (text.length > maxYamlBytes)
    throw new RemoteDocumentError(
      `the remote sent ${text.length} bytes of YAML, and ${maxYamlBytes} are the most: serve a large document as JSON`,
    );
  const read = await readYaml(text.toString(), { ...defaultTextLimits, maxJsonBytes: bytes });
  if (read.kind === "error")
    throw new RemoteDocumentError(`the remote sent YAML that can't be read: ${read.message}`);
  const [document, ...more] = read.documents.filter(({ value }) => value !== null);
  if (document === undefined || more.length > 0)
    throw new RemoteDocumentError("the remote sent YAML that is not one document");
  return document.value;
}
