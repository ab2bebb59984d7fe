import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import path from "node:path";
import { RuntimeError } from "../runtime-error.js";

/** The content of a config file. */
export interface Config {
  /** The file, which may be one that nobody named; "" if there is none. */
  readonly file: string;
  /** By names of flags, in small letters. */
  readonly values: Readonly<Record<string, unknown>>;
}

export const noConfig: Config = { file: "", values: {} };

const maxBytes = 1024 * 1024;

/** What a shell makes of `<(command)`, and other descriptors that are open: their pipe has a writer, or has ended. */
const openDescriptors = /^\/(dev|proc\/self)\/(fd\/|stdin$)/;

/**
 * Reads a config file: JSON, YAML or TOML by its extension, with keys named like the flags, in any case as in flagd. Without a path, `$HOME/.agent.yaml` is read if
 * it exists, as flagd does. The parsers are loaded only when a file needs them, because they cost memory.
 *
 * @throws RuntimeError CONFIG_UNREADABLE
 */
export async function readConfig(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Config> {
  const file = given ?? defaultConfigFile(env);
  if (file === undefined) return noConfig;
  let content: unknown;
  try {
    content = await parse(file, readText(file));
  } catch (cause) {
    throw new RuntimeError(
      "CONFIG_UNREADABLE",
      `--config ${file} can't be read: ${(cause as Error).message}`,
      { cause },
    );
  }
  if (content === null || content === undefined) return noConfig;
  if (typeof content !== "object" || Array.isArray(content))
    throw new RuntimeError(
      "CONFIG_UNREADABLE",
      `--config ${file} must hold a map of options, with keys named like the flags`,
    );
  const entries = Object.entries(content).map(([key, value]) => [key.toLowerCase(), value] as const);
  return { file, values: Object.fromEntries(entries) };
}

function defaultConfigFile(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const home = env["HOME"];
  if (home === undefined || home === "") return undefined;
  const file = path.join(home, ".agent.yaml");
  return existsSync(file) ? file : undefined;
}

/** Devices have no size, and some no end: /dev/null is a config file of no options, /dev/zero would fill the memory. */
function readText(file: string): string {
  // Opening it would wait for its writer.
  if (statSync(file).isFIFO() && !openDescriptors.test(file))
    throw new Error("it is a named pipe, not a file");
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= maxBytes; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    if (length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(descriptor);
  }
}

async function parse(file: string, text: string): Promise<unknown> {
  switch (path.extname(file)) {
    case ".json":
      return JSON.parse(text);
    case ".toml":
      return (await import("smol-toml")).parse(text);
    default:
      return (await import("yaml")).parse(text);
  }
}
