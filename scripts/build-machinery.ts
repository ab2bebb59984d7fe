/**
 * `npm run machinery`: builds or fetches what test:cluster, test:helm, test:images and test:node take and would build themselves, so that it can
 * be done beside something else: programs of Go, promtool, and the base images. It says how long each took. What can't be had here
 * is named, with the reason; the tests that need it are skipped. `npm run machinery -- kubernetes` builds only what most of them take.
 */
import { spawn } from "node:child_process";
import path from "node:path";
import { parseArgs } from "node:util";
import { buildMachinery } from "./cluster-machinery.js";
import type { Machinery } from "./go-machinery.js";
import { buildH2spec } from "./h2spec-machinery.js";
import { buildHelm } from "./helm-machinery.js";
import { buildNode, buildPods } from "./node-machinery.js";
import { missingForNode } from "./real-node/requirements.js";

const lines: string[] = [];

/** @param build resolves with the reason if what it builds can't be had. */
async function part(what: string, build: () => Promise<string | undefined>): Promise<void> {
  const sinceMs = Date.now();
  try {
    const missing = await build();
    const seconds = ((Date.now() - sinceMs) / 1_000).toFixed(1);
    lines.push(missing === undefined ? `${what}: ${seconds} s` : `${what}: not built: ${missing}`);
  } catch (error) {
    lines.push(`${what}: failed`);
    console.error(`bunting: ${what}: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

const go = (what: string, build: () => Promise<Machinery>): Promise<void> =>
  part(what, async () => {
    const built = await build();
    return "missing" in built ? built.missing : undefined;
  });

/** What waits for the network more than for a processor runs in a process of its own, which prints where it is, or else ends with 2 and the reason. */
const script = (what: string, file: string): Promise<void> =>
  part(what, async () => {
    const flags = ["--conditions=@bunting/source", "--import=tsx"];
    const child = spawn(process.execPath, [...flags, path.join(import.meta.dirname, file)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (code === 2) return output.trim().split("\n").at(-1);
    if (code !== 0) throw new Error(`${file} ended with ${code ?? "a signal"}`);
    return undefined;
  });

/** One after the other: they share what Go has compiled, and each build takes all cores. The API server first: most tests wait for that. */
async function programsOfGo(): Promise<void> {
  await go("Kubernetes", buildMachinery);
  const missing = missingForNode();
  if (missing === undefined) {
    await go("kubelet, kube-scheduler and kube-proxy", buildNode);
    await go("CoreDNS", buildPods);
  } else lines.push(`kubelet and CoreDNS: not built: ${missing}`);
  await go("Helm", buildHelm);
  await go("h2spec", buildH2spec);
}

const { positionals } = parseArgs({ allowPositionals: true });
if (positionals.join() === "kubernetes") await go("Kubernetes", buildMachinery);
else if (positionals.length > 0)
  throw new Error("write npm run machinery, or npm run machinery -- kubernetes");
else {
  await Promise.all([
    programsOfGo(),
    script("Node 24", "node24.ts"),
    script("promtool", "promtool.ts"),
    script("the base images", "images/base-images.ts"),
  ]);
}
console.log(["bunting: the machinery of the tests:", ...lines.map((line) => `  ${line}`)].join("\n"));
