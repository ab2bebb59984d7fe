import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

export const rootFolder = path.resolve(import.meta.dirname, "../..");
const outputFolder = path.join(rootFolder, ".bunting/bench");

/** How code is compiled: as it is written, or minified as the bundles of the agent and the proxy are (scripts/bundle.ts). */
export type BundleStyle = "proxy" | "agent";

/**
 * Bundles a script below bench/ and its imports into one plain JavaScript file, and returns its path. Measured code must not run through a
 * TypeScript loader, which costs memory and wraps every function.
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
    // CommonJS dependencies load node's own modules by require.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module";const require = __createRequire(import.meta.url);',
    },
  });
  return outfile;
}
