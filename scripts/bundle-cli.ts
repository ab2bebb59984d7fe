/**
 * Bundles the CLI: one folder without dependencies, for npx and for images. Each command is a chunk that is loaded when it is needed.
 */
import { chmodSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { writeBill } from "./write-bill.js";

const root = path.dirname(import.meta.dirname);
const cli = path.join(root, "packages/cli");
const bundle = path.join(cli, "dist/bundle");
const { version } = JSON.parse(readFileSync(path.join(cli, "package.json"), "utf8")) as { version: string };

rmSync(bundle, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { bunting: path.join(cli, "src/main.ts") },
  outdir: bundle,
  outExtension: { ".js": ".mjs" },
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "node20",
  conditions: ["@bunting/source"],
  alias: { "string-width": path.join(root, "scripts/width-of-narrow-text.ts") },
  legalComments: "linked",
  logLevel: "warning",
  metafile: true,
  absWorkingDir: root,
  define: { "process.env.BUNTING_BUILD": JSON.stringify(version) },
  // CommonJS dependencies load node's own modules by require.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module";const require = __createRequire(import.meta.url);',
  },
});
chmodSync(path.join(bundle, "bunting.mjs"), 0o755);
writeBill(bundle, { name: "bunting", version }, [metafile]);
