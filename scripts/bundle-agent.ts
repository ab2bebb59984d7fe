/**
 * Bundles the agent into one file: a sidecar's memory is counted, and unbundled modules cost 5 MB. `tsc -b` must have run.
 */
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { build, type BuildOptions } from "esbuild";
import { leaveOut } from "./leave-out.js";
import { leftOutOfAgent } from "./left-out-of-agent.js";
import { loadOnDemand } from "./load-on-demand.js";

const packages = path.join(path.dirname(import.meta.dirname), "packages");
const agent = path.join(packages, "agent");
const bundle = path.join(agent, "dist/bunting-agent.cjs");
const { version } = JSON.parse(readFileSync(path.join(agent, "package.json"), "utf8")) as {
  version: string;
};

// yaml's CommonJS build has only a default export when it is imported as a chunk; its browser build is made of ES modules.
const yaml = path.join(
  path.dirname(createRequire(path.join(packages, "files/package.json")).resolve("yaml/package.json")),
  "browser/index.js",
);
const common = {
  bundle: true,
  minify: true,
  platform: "node",
  target: "node20",
  conditions: ["@bunting/source"],
  alias: { yaml },
  legalComments: "linked",
  // Read by node only with --enable-source-maps, which costs memory: docs/operations.md has the figures.
  sourcemap: "linked",
  sourcesContent: false,
  logLevel: "warning",
} satisfies BuildOptions;

rmSync(path.join(agent, "dist/chunks"), { recursive: true, force: true });

// CommonJS, because node needs 0.4 MB more to start with an ES module (and 2 MB more if it does nothing else). What only some command lines
// need (YAML, TOML) goes into chunks, ES modules that are loaded on first use.
const onDemand = new Map<string, string>();
await build({
  ...common,
  entryPoints: [path.join(agent, "src/main.ts")],
  outfile: bundle,
  format: "cjs",
  plugins: [leaveOut(leftOutOfAgent), loadOnDemand(onDemand)],
  define: { "process.env.BUNTING_BUILD": JSON.stringify(version) },
});
await build({
  ...common,
  entryPoints: Object.fromEntries(onDemand),
  outdir: path.join(agent, "dist/chunks"),
  outExtension: { ".js": ".mjs" },
  splitting: true,
  format: "esm",
  // CommonJS dependencies load node's own modules by require.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module";const require = __createRequire(import.meta.url);',
  },
});
chmodSync(bundle, 0o755);
