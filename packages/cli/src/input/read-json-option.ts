import { notText, utf8Of } from "@bunting/files/encoding";
import type { JsonValue } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import type { Io } from "../terminal/io.js";
import { nameOf, readInput, standardInput } from "./read-input.js";

export interface JsonOption {
  /** Such as `--context`. */
  readonly option: string;
  /** Name of the value in messages about a file: `the context`. */
  readonly what: string;
  /** What to write instead of what is no JSON: `an object such as {...}`. */
  readonly example: string;
}

/**
 * The value of an option that is JSON, `@FILE`, or - for the standard input; `from` names it in errors.
 *
 * @throws CliError INPUT_UNREADABLE or USAGE_INVALID
 */
export async function readJsonOption(
  given: string,
  { option, what, example }: JsonOption,
  io: Pick<Io, "stdin" | "signal">,
): Promise<{ readonly value: JsonValue; readonly from: string }> {
  const path = given.startsWith("@") ? given.slice(1) : given === standardInput ? given : undefined;
  const from = path === undefined ? option : `${what} of ${nameOf(path)}`;
  const text = path === undefined ? given : utf8Of(await readInput(path, io))?.toString();
  if (text === undefined) throw CliError.usageInvalid(`${from}: ${notText}`);
  try {
    return { value: JSON.parse(text) as JsonValue, from };
  } catch (cause) {
    const message = `${from} is not JSON (${(cause as Error).message}): give ${example}`;
    throw CliError.usageInvalid(message, { cause });
  }
}
