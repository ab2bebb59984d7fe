import type { ExtensionObject } from "@bunting/extension";
import { readText } from "@bunting/files/text";
import { isJsonObject } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import { objectsIn } from "../input/objects-in.js";
import { nameOf, readInput } from "../input/read-input.js";
import type { Io } from "../terminal/io.js";

/**
 * The one object of a file in YAML or JSON.
 *
 * @throws CliError INPUT_UNREADABLE or INPUT_INVALID
 */
export async function readObject(path: string, io: Pick<Io, "stdin" | "signal">): Promise<ExtensionObject> {
  const name = nameOf(path);
  const text = await readText(name, await readInput(path, io));
  if (text.kind === "error")
    throw new CliError("INPUT_INVALID", `${name}:${text.line}:${text.column}: ${text.message}`);
  const [object, ...others] = text.documents
    .flatMap(({ value }) => objectsIn(value))
    .map(({ value }) => value);
  if (object === undefined || others.length > 0)
    throw new CliError(
      "INPUT_INVALID",
      `${name} holds ${object === undefined ? "no object" : "several objects"}: give it one`,
    );
  const { apiVersion, kind, metadata } = object;
  const given = isJsonObject(metadata) ? metadata["name"] : undefined;
  if (
    typeof apiVersion !== "string" ||
    typeof kind !== "string" ||
    !isJsonObject(metadata) ||
    typeof given !== "string"
  )
    throw new CliError(
      "INPUT_INVALID",
      `${name} holds no object of Kubernetes: it has no apiVersion, kind or metadata.name`,
    );
  return { ...object, apiVersion, kind, metadata: { ...metadata, name: given } };
}
