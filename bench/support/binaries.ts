import { cpSync, existsSync } from "node:fs";
import path from "node:path";
import { makeCodeCache } from "../../scripts/code-cache/make-code-cache.js";
import { imageEntrypoint, type ImageEntrypoint } from "../../scripts/images/image-entrypoint.js";
import { rootFolder } from "./bundle.js";

/** Our binaries as shipped: the built file, started as the image starts it. */
export interface Binary extends ImageEntrypoint {
  readonly script: string;
}

export function proxyBinary(): Binary {
  return { script: built("packages/proxy/dist/bunting-proxy.cjs"), ...imageEntrypoint("proxy.Dockerfile") };
}

/** With V8's code cache for this node, as in the image: in a copy, because tests start the built one, and by other versions of node. */
export function agentBinary(): Binary {
  agentScript ??= cachedAgent(path.dirname(built("packages/agent/dist/start-agent.cjs")));
  return { script: agentScript, ...imageEntrypoint("agent.Dockerfile") };
}

let agentScript: string | undefined;

function cachedAgent(dist: string): string {
  const folder = path.join(rootFolder, ".bunting/bench/agent");
  cpSync(dist, folder, { recursive: true });
  const missing = makeCodeCache(process.execPath, folder);
  if (missing !== undefined) throw new Error(missing);
  return path.join(folder, "start-agent.cjs");
}

function built(file: string): string {
  const script = path.join(rootFolder, file);
  if (!existsSync(script)) throw new Error(`${file} is not there: run \`npm run build\` first`);
  return script;
}
