import { isJsonObject, type JsonObject } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import { readJsonOption } from "../input/read-json-option.js";
import type { Io } from "../terminal/io.js";

const example = 'such as {"email":"ada@example.com"}';

/**
 * The evaluation context of `--context`.
 *
 * @throws CliError INPUT_UNREADABLE or USAGE_INVALID
 */
export async function readContext(given: string, io: Pick<Io, "stdin" | "signal">): Promise<JsonObject> {
  const option = { option: "--context", what: "the context", example: `an object ${example}` };
  const { value, from } = await readJsonOption(given, option, io);
  if (isJsonObject(value)) return value;
  throw new CliError("USAGE_INVALID", `${from} must be a JSON object, ${example}`);
}
