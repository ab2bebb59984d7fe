import { existsSync } from "node:fs";
import path from "node:path";
import { imageEntrypoint, type ImageEntrypoint } from "@bunting/test/support/image-entrypoint.js";
import { rootFolder } from "./bundle.js";

/** Our binaries as shipped: the built file, started as the image starts it. */
export interface Binary extends ImageEntrypoint {
  readonly script: string;
}

export function proxyBinary(): Binary {
  return { script: built("packages/proxy/dist/bunting-proxy.cjs"), ...imageEntrypoint("proxy.Dockerfile") };
}

export function agentBinary(): Binary {
  return {
    script: built("packages/agent/dist/bunting-agent.cjs"),
    ...imageEntrypoint("agent.Dockerfile"),
  };
}

function built(file: string): string {
  const script = path.join(rootFolder, file);
  if (!existsSync(script)) throw new Error(`${file} is not there: run \`npm run build\` first`);
  return script;
}
