import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const dockerFolder = path.join(path.dirname(path.dirname(import.meta.dirname)), "deploy/docker");

// Not by import: programs of types without JavaScript have this file, too.
const { flagsOfLauncher } = createRequire(import.meta.url)(
  "../../packages/agent/launch/load-node-modules.cjs",
) as { readonly flagsOfLauncher: readonly string[] };

/** How an image starts node. What measures or attacks a binary starts it in the same way. */
export interface ImageEntrypoint {
  /** The arguments between node and the script. */
  readonly nodeFlags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Reads ENTRYPOINT and ENV of the last stage of a Dockerfile. */
export function imageEntrypoint(dockerfile: `${"agent" | "operator" | "proxy"}.Dockerfile`): ImageEntrypoint {
  const stages = readFileSync(path.join(dockerFolder, dockerfile), "utf8").split(/^FROM /m);
  const stage = stages.at(-1) ?? "";
  const entrypoint = /^ENTRYPOINT (\[.*\])$/m.exec(stage)?.[1];
  if (entrypoint === undefined) throw new Error(`${dockerfile} has no ENTRYPOINT in the form of a list`);
  const [, ...words] = JSON.parse(entrypoint) as string[];
  const variables = [...stage.matchAll(/^ENV (.*)$/gm)].flatMap(([, text = ""]) => text.split(" "));
  return {
    nodeFlags: words.filter((word) => word.startsWith("--")),
    environment: Object.fromEntries(variables.flatMap(environmentEntry)),
  };
}

/** What the agent runs under, for what is measured without its launcher, which sets some flags of V8 while node runs. */
export function agentSettings(): ImageEntrypoint {
  const { nodeFlags, environment } = imageEntrypoint("agent.Dockerfile");
  return { nodeFlags: [...new Set([...nodeFlags, ...flagsOfLauncher])], environment };
}

function environmentEntry(variable: string): [name: string, value: string][] {
  const name = variable.slice(0, variable.indexOf("="));
  const value = variable.slice(variable.indexOf("=") + 1);
  if (name !== "LD_PRELOAD") return [[name, value]];
  const library = installedLibrary(path.basename(value));
  return library === undefined ? [] : [[name, library]];
}

/** Where Debian has installed a library that the image has in a place of its own; undefined if it is not installed. */
function installedLibrary(name: string): string | undefined {
  return readdirSync("/usr/lib")
    .filter((folder) => folder.endsWith("-linux-gnu"))
    .map((folder) => path.join("/usr/lib", folder, name))
    .find((file) => existsSync(file));
}
