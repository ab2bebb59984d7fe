import { existsSync } from "node:fs";
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

/** With V8's code cache for this node, as in the image. */
export function agentBinary(): Binary {
  const script = built("packages/agent/dist/start-agent.cjs");
  if (!hasCodeCache) {
    const missing = makeCodeCache(process.execPath, path.dirname(script));
    if (missing !== undefined) throw new Error(missing);
    hasCodeCache = true;
  }
  return { script, ...imageEntrypoint("agent.Dockerfile") };
}

let hasCodeCache = false;

function built(file: string): string {
  const script = path.join(rootFolder, file);
  if (!existsSync(script)) throw new Error(`${file} is not there: run \`npm run build\` first`);
  return script;
}
