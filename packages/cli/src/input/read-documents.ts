import { plainTopicOf, readManifest, type ManifestFlags } from "@bunting/featureflags/manifests";
import { withRefusedFlags, type FlagDocument, type JsonObject } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import type { Io } from "../terminal/io.js";
import { findFiles } from "./find-files.js";
import { nameOf, readInput } from "./read-input.js";

/** A document of a file. */
export interface InputDocument {
  readonly topic: string;
  readonly document: FlagDocument;
  /** FILE:LINE. */
  readonly place: string;
  /** The remote that its FeatureFlag names, unchecked; absent without one. */
  readonly provider?: JsonObject;
}

/**
 * Reads the documents of a file, of a directory or of the standard input, in the form in which the proxy serves them.
 *
 * @throws CliError INPUT_UNREADABLE; INPUT_INVALID if part of a file can't be served, or there are no flags at all.
 */
export async function readDocuments(
  path: string,
  io: Pick<Io, "stdin" | "signal">,
): Promise<readonly InputDocument[]> {
  const documents: InputDocument[] = [];
  for (const file of await findFiles([path], io.signal)) {
    const plain = plainTopicOf(file.path);
    const topic = "topic" in plain ? plain : ({ topic: "default/flags" } as const);
    const { flags, errors } = await readManifest(file.path, await readInput(file.path, io), topic);
    const name = nameOf(file.path);
    // A flag that is refused alone is refused again where it is used, as agents do.
    const error = errors.find(({ flag }) => flag === undefined);
    // In a directory there are other files, too.
    if (error !== undefined && (file.isNamed || flags.length > 0)) {
      const message = `${name}:${error.line}:${error.column}: ${error.message} ("bunting lint" shows all findings)`;
      throw CliError.inputInvalid(message);
    }
    for (const one of flags) documents.push(placed(one, name));
  }
  if (documents.length === 0)
    throw CliError.inputInvalid(
      `${nameOf(path)} holds no flags: name a FeatureFlag manifest or a flagd file`,
    );
  return documents;
}

function placed(
  { topic, document, refused = [], provider, line }: ManifestFlags,
  name: string,
): InputDocument {
  return {
    topic,
    document: withRefusedFlags({ document, refused }),
    place: `${name}:${line}`,
    ...(provider === undefined ? {} : { provider }),
  };
}
