import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

export const rootFolder = path.resolve(import.meta.dirname, "../..");
const outputFolder = path.join(rootFolder, ".bunting/bench");

/** How code is treated on its way into a process: as the proxy's build does, or as the agent's does (scripts/bundle-agent.ts). */
export type BundleStyle = "proxy" | "agent";

/**
 * Makes one plain JavaScript file of a script below bench/ and what it imports, and returns its path. What is measured must not run
 * through a loader of TypeScript: that costs memory, and wraps every function that is made.
 */
export async function bundle(script: string, style: BundleStyle): Promise<string> {
  const outfile = path.join(outputFolder, script.replace(/\.ts$/, ".mjs").replaceAll("/", "-"));
  mkdirSync(outputFolder, { recursive: true });
  rmSync(outfile, { force: true });
  await build({
    entryPoints: [path.join(rootFolder, "bench", script)],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    conditions: ["@bunting/source"],
    logLevel: "warning",
    ...(style === "agent" ? { minify: true, keepNames: true } : {}),
    // CommonJS dependencies ask for node's own modules by require.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module";const require = __createRequire(import.meta.url);',
    },
  });
  return outfile;
}
