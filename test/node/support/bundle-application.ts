import path from "node:path";
import { build } from "esbuild";

/** Bundles the application that runs beside sidecars, with the OpenFeature SDK and its flagd provider. */
export async function bundleApplication(outfile: string): Promise<void> {
  await build({
    entryPoints: [path.join(import.meta.dirname, "../application/application.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    logLevel: "error",
  });
}
