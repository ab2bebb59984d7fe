/**
 * Bundles the agent, the proxy and the operator into one file each, as their images have them: a sidecar's memory is counted, and unbundled
 * modules cost it 5 MB; the proxy's image was ten times as large. Names on the command line (`agent`, `proxy`, `operator`) choose what to bundle.
 */
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import { amend } from "./amend.js";
import { amendmentsOfGrpcClients } from "./amendments.js";
import { leaveOut, type LeftOut } from "./leave-out.js";
import { leftOutOfAgent, leftOutOfGrpcClients } from "./left-out-of-agent.js";
import { loadOnDemand } from "./load-on-demand.js";
import { bundleId, codeCacheName } from "./code-cache/bundle-id.js";
import { writeBill } from "./write-bill.js";

const root = path.dirname(import.meta.dirname);
const packages = path.join(root, "packages");

interface Program {
  readonly leftOut: readonly LeftOut[];
  /** What is imported on demand, as it is named there, and stays in the bundle. */
  readonly inBundle: readonly string[];
  /** Packages in CommonJS that are a file beside the bundle, which reads them on first use, and which of our packages depends on each. */
  readonly apart: Readonly<Record<string, string>>;
  /** Packages of `leftOut` that chunks have copies of. */
  readonly inChunks: readonly string[];
  /** What starts the bundle in the image, if that is not node itself: a file of the package that knows the bundle's id. */
  readonly launcher?: string;
}

const programs: Readonly<Record<string, Program>> = {
  agent: {
    leftOut: leftOutOfAgent,
    // The two usual kinds of source are evaluated on first use, but are no chunks, which node loads with its loader of ES modules, and which have
    // their own copies of what the bundle has as well.
    inBundle: ["./grpc-source.js", "@bunting/files"],
    // A third of all code, for agents with a source of gRPC only.
    apart: { "@grpc/grpc-js": "agent" },
    // That of OpenTelemetry's exporters, which are clients, too.
    inChunks: ["@grpc/grpc-js"],
    launcher: "launch/start-agent.cjs",
  },
  proxy: {
    leftOut: leftOutOfGrpcClients,
    inBundle: ["./upstream-link.js", "./replicated-topics.js", "./grpc-remote.js"],
    // For a proxy that is fed by another, and for replicas that share a Redis.
    apart: { "@grpc/grpc-js": "proxy", ioredis: "backplane" },
    inChunks: [],
  },
  operator: { leftOut: [], inBundle: [], apart: {}, inChunks: [] },
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
  // Read by node only with --enable-source-maps, which costs memory: docs/operate/agent.md has the figures.
  sourcemap: "linked",
  sourcesContent: false,
  metafile: true,
  absWorkingDir: root,
  logLevel: "warning",
} satisfies BuildOptions;

/** As in the agent's launcher: Linux drops a SIGTERM to the first process of a container until the process listens for it. */
const endsOnSigterm =
  'process.on("SIGTERM",()=>{if(process.listenerCount("SIGTERM")===1)process.exit(143)});';

const named = process.argv.slice(2);
for (const program of named.length > 0 ? named : Object.keys(programs)) await bundle(program);

async function bundle(program: string): Promise<void> {
  const found = programs[program];
  if (found === undefined) throw new Error(`there is no program ${program} to bundle`);
  const { leftOut, inBundle, apart, inChunks, launcher } = found;
  const folder = path.join(packages, program);
  const name = `bunting-${program}`;
  const outfile = path.join(folder, `dist/${name}.cjs`);
  const chunks = path.join(folder, "dist/chunks");
  const { version } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as {
    version: string;
  };
  rmSync(chunks, { recursive: true, force: true });

  // CommonJS, because node needs 0.4 MB more to start with an ES module (and 2 MB more if it does nothing else). What only some command lines
  // need (YAML, TOML, kubeconfigs) goes into chunks, ES modules that are loaded on first use.
  const onDemand = new Map<string, string>();
  const { metafile } = await build({
    ...common,
    entryPoints: [path.join(folder, "src/main.ts")],
    outfile,
    format: "cjs",
    plugins: [
      keepApart(Object.keys(apart)),
      leaveOut(leftOut.filter(({ from }) => apart[from] === undefined)),
      loadOnDemand(onDemand, inBundle),
    ],
    define: { "process.env.BUNTING_BUILD": JSON.stringify(version) },
    // Bundles are functions to node, which has not evaluated anything of the service when this returns. The directive must be the first statement.
    banner: {
      js: `"use strict";if(process.argv[2]==="health")return require("./${name}.health.cjs");${launcher === undefined ? endsOnSigterm : ""}`,
    },
  });
  const { metafile: ofHealth } = await build({
    ...common,
    sourcemap: false,
    entryPoints: [path.join(folder, "src/health.ts")],
    outfile: path.join(folder, `dist/${name}.health.cjs`),
    format: "cjs",
    plugins: [loadOnDemand(onDemand), dropUnused()],
  });
  const metafiles: Metafile[] = [metafile, ofHealth];
  for (const [module, dependent] of Object.entries(apart)) {
    const { metafile: ofModule } = await build({
      ...common,
      entryPoints: [createRequire(path.join(packages, dependent, "package.json")).resolve(module)],
      outfile: path.join(chunks, fileOf(module)),
      format: "cjs",
      plugins: [
        leaveOut(leftOut.filter(({ from }) => from === module)),
        amend(amendmentsOfGrpcClients.filter(({ of }) => of === module)),
      ],
    });
    metafiles.push(ofModule);
  }
  const { metafile: ofChunks } = await build({
    ...common,
    // In one order: that in which modules were found changes the names of chunks, and with them the images.
    entryPoints: Object.fromEntries([...onDemand].sort(([a], [b]) => (a < b ? -1 : 1))),
    outdir: chunks,
    outExtension: { ".js": ".mjs" },
    splitting: true,
    format: "esm",
    plugins: [leaveOut(leftOut.filter(({ from }) => inChunks.includes(from)))],
    // CommonJS dependencies load node's own modules by require.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module";const require = __createRequire(import.meta.url);',
    },
  });
  chmodSync(outfile, 0o755);
  if (launcher !== undefined) await bundleLauncher(path.join(folder, launcher), outfile);
  writeBill(path.join(folder, "dist"), { name, version }, [...metafiles, ofChunks]);
}

/** Puts it beside the bundle, and removes the code cache of the bundle before. */
async function bundleLauncher(launcher: string, outfile: string): Promise<void> {
  const dist = path.dirname(outfile);
  rmSync(path.join(dist, codeCacheName), { force: true });
  await build({
    ...common,
    sourcemap: false,
    entryPoints: [launcher],
    outfile: path.join(dist, path.basename(launcher)),
    format: "cjs",
    define: { "process.env.BUNTING_BUNDLE_ID": JSON.stringify(bundleId(outfile)) },
  });
}

/** Leaves out our modules of which nothing is used, with what they import: the logger and the metrics, of the main entry of runtime. */
function dropUnused(): Plugin {
  return {
    name: "drop-unused",
    setup: (build) => {
      build.onResolve(
        { filter: /^(@bunting\/|\.)/ },
        async ({ path: name, kind, resolveDir, pluginData }) => {
          if (kind !== "import-statement" || pluginData === "resolved") return undefined;
          const resolved = await build.resolve(name, { kind, resolveDir, pluginData: "resolved" });
          return { path: resolved.path, errors: resolved.errors, sideEffects: false };
        },
      );
    },
  };
}

/** Points imports of these packages at their files among the chunks. */
function keepApart(names: readonly string[]): Plugin {
  return {
    name: "keep-apart",
    setup: (build) => {
      build.onResolve({ filter: /./ }, ({ path: name }) =>
        names.includes(name) ? { path: `./chunks/${fileOf(name)}`, external: true } : undefined,
      );
    },
  };
}

/** Such as `grpc-js.cjs` for `@grpc/grpc-js`. */
function fileOf(name: string): string {
  return `${path.basename(name)}.cjs`;
}
