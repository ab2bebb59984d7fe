import { notText, utf8Of } from "@bunting/files/encoding";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import { nameOf, readInput, standardInput } from "../input/read-input.js";
import type { Io } from "../terminal/io.js";

/**
 * The evaluation context of `--context`.
 *
 * @throws CliError INPUT_UNREADABLE or USAGE_INVALID
 */
export async function readContext(given: string, io: Pick<Io, "stdin" | "signal">): Promise<JsonObject> {
  const path = given.startsWith("@") ? given.slice(1) : given === standardInput ? given : undefined;
  const text = path === undefined ? given : textOf(await readInput(path, io), path);
  const from = path === undefined ? "--context" : `the context of ${nameOf(path)}`;
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (cause) {
    const message = `${from} is not JSON (${(cause as Error).message}): give an object such as {"email":"ada@example.com"}`;
    throw new CliError("USAGE_INVALID", message, { cause });
  }
  if (isJsonObject(value)) return value;
  throw new CliError("USAGE_INVALID", `${from} must be a JSON object, such as {"email":"ada@example.com"}`);
}

function textOf(bytes: Buffer, path: string): string {
  const text = utf8Of(bytes);
  if (text === undefined) throw new CliError("USAGE_INVALID", `the context of ${nameOf(path)}: ${notText}`);
  return text.toString();
}
