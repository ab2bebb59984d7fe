import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { rootFolder } from "./bundle.js";

/** Our binaries as shipped: the built file, with the node flags of the image's entrypoint. */
export interface Binary {
  readonly script: string;
  readonly nodeFlags: readonly string[];
}

export function proxyBinary(): Binary {
  return { script: built("packages/proxy/dist/main.js"), nodeFlags: entrypointFlags("proxy.Dockerfile") };
}

export function agentBinary(): Binary {
  return {
    script: built("packages/agent/dist/bunting-agent.cjs"),
    nodeFlags: entrypointFlags("agent.Dockerfile"),
  };
}

function built(file: string): string {
  const script = path.join(rootFolder, file);
  if (!existsSync(script)) throw new Error(`${file} is not there: run \`npm run build\` first`);
  return script;
}

/** The arguments between node and the script in the ENTRYPOINT. */
export function entrypointFlags(dockerfile: string): string[] {
  const file = path.join(rootFolder, "deploy/docker", dockerfile);
  const entrypoint = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(file, "utf8"))?.[1];
  if (entrypoint === undefined) throw new Error(`${dockerfile} has no ENTRYPOINT in the form of a list`);
  const [, ...words] = JSON.parse(entrypoint) as string[];
  return words.filter((word) => word.startsWith("--"));
}
