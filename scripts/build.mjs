// Builds every package into its dist/, and the agent into one bundle: a sidecar's memory is counted, and unbundled modules cost 5 MB.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { leaveOut } from "./leave-out.mjs";
import { leftOutOfAgent } from "./left-out-of-agent.mjs";

const root = path.dirname(import.meta.dirname);
const agent = path.join(root, "packages/agent");
const { version } = JSON.parse(readFileSync(path.join(agent, "package.json"), "utf8"));

const compiled = spawnSync(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-b"], {
  cwd: root,
  stdio: "inherit",
});
if (compiled.status !== 0) process.exit(1);

// Imported on first use, a CommonJS module has nothing but a default export in a chunk; yaml has itself as ES modules too.
const yaml = path.join(
  path.dirname(createRequire(path.join(agent, "package.json")).resolve("yaml/package.json")),
  "browser/index.js",
);

// What only some command lines need (--help, YAML, TOML) stays in chunks of its own, loaded on first use.
rmSync(path.join(agent, "dist/chunks"), { recursive: true, force: true });
await build({
  entryPoints: { "bunting-agent": path.join(agent, "src/main.ts") },
  outdir: path.join(agent, "dist"),
  outExtension: { ".js": ".mjs" },
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  minify: true,
  platform: "node",
  target: "node20",
  format: "esm",
  conditions: ["@bunting/source"],
  alias: { yaml },
  plugins: [leaveOut(leftOutOfAgent)],
  sourcemap: false,
  legalComments: "linked",
  logLevel: "warning",
  define: { "process.env.BUNTING_BUILD": JSON.stringify(version) },
  // CommonJS dependencies ask for node's own modules by require.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module";const require = __createRequire(import.meta.url);',
  },
});
chmodSync(path.join(agent, "dist/bunting-agent.mjs"), 0o755);
chmodSync(path.join(root, "packages/proxy/dist/main.js"), 0o755);
