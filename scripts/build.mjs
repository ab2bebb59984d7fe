// Builds every package into its dist/, and the agent into one bundle: a sidecar's memory is counted, and unbundled modules cost 5 MB.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { leaveOut } from "./leave-out.mjs";
import { leftOutOfAgent } from "./left-out-of-agent.mjs";
import { loadOnDemand } from "./load-on-demand.mjs";

const root = path.dirname(import.meta.dirname);
const agent = path.join(root, "packages/agent");
const { version } = JSON.parse(readFileSync(path.join(agent, "package.json"), "utf8"));

const compiled = spawnSync(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-b"], {
  cwd: root,
  stdio: "inherit",
});
if (compiled.status !== 0) process.exit(1);

// The CommonJS of yaml has nothing but a default export when it is imported as a chunk; it comes as ES modules too.
const yaml = path.join(
  path.dirname(createRequire(path.join(agent, "package.json")).resolve("yaml/package.json")),
  "browser/index.js",
);
const common = {
  bundle: true,
  minify: true,
  platform: "node",
  target: "node20",
  sourcemap: false,
  legalComments: "linked",
  logLevel: "warning",
};

// CommonJS, because node takes 0.4 MB more to start with an ES module (and 2 MB more if it does nothing else). What only some command lines need (--help, YAML, TOML) is in chunks
// of its own, ES modules loaded on first use.
const onDemand = new Map();
for (const old of ["chunks", "bunting-agent.mjs", "bunting-agent.mjs.LEGAL.txt"])
  rmSync(path.join(agent, "dist", old), { recursive: true, force: true });
await build({
  ...common,
  entryPoints: [path.join(agent, "src/main.ts")],
  outfile: path.join(agent, "dist/bunting-agent.cjs"),
  format: "cjs",
  conditions: ["@bunting/source"],
  alias: { yaml },
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
  // CommonJS dependencies ask for node's own modules by require.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module";const require = __createRequire(import.meta.url);',
  },
});
chmodSync(path.join(agent, "dist/bunting-agent.cjs"), 0o755);
chmodSync(path.join(root, "packages/proxy/dist/main.js"), 0o755);
