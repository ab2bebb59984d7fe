import { readFileSync } from "node:fs";
import path from "node:path";

const dockerFolder = path.join(path.dirname(path.dirname(import.meta.dirname)), "deploy/docker");

/** The V8 flags of an image's entrypoint: the arguments between node and the script. */
export function entrypointFlags(dockerfile: "agent.Dockerfile" | "proxy.Dockerfile"): readonly string[] {
  const entrypoint = /^ENTRYPOINT (\[.*\])$/m.exec(
    readFileSync(path.join(dockerFolder, dockerfile), "utf8"),
  )?.[1];
  if (entrypoint === undefined) throw new Error(`${dockerfile} has no ENTRYPOINT in the form of a list`);
  const [, ...words] = JSON.parse(entrypoint) as string[];
  return words.filter((word) => word.startsWith("--"));
}
