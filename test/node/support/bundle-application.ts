import { chmodSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

/** Bundles the application that runs beside sidecars, with the OpenFeature SDK and its flagd provider. */
export function bundleApplication(outfile: string): Promise<void> {
  return bundle("../application/application.ts", outfile);
}

/** Bundles what stands in for the open-feature-operator's manager, as a file that can be run. */
export async function bundleStockManager(outfile: string): Promise<void> {
  await bundle("../stock-manager/manager.ts", outfile);
  chmodSync(outfile, 0o755);
}

async function bundle(entryPoint: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [path.join(import.meta.dirname, entryPoint)],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    logLevel: "error",
  });
}
