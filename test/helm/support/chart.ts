import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { runTool, type ToolResult } from "./tool.js";

export const root = path.resolve(import.meta.dirname, "../../..");
export const chartFolder = path.join(root, "deploy/helm/bunting");
export const operatorChartFolder = path.join(root, "deploy/helm/bunting-operator");

/** An object of Kubernetes, as far as tests of the chart look at all of them. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly [other: string]: unknown;
}

const home = mkdtempSync(path.join(tmpdir(), "bunting-helm-"));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));

/** Runs Helm with a home of its own, and with `values` as a file on stdin. */
export function helm(
  args: readonly string[],
  { values, kubeconfig }: { readonly values?: unknown; readonly kubeconfig?: string } = {},
): Promise<ToolResult> {
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_DATA_HOME: home,
    KUBECONFIG: kubeconfig ?? "/dev/null",
  };
  const withValues = values === undefined ? args : [...args, "--values", "-"];
  return runTool(process.env["BUNTING_HELM"] ?? "helm", withValues, {
    stdin: JSON.stringify(values ?? {}),
    env,
  });
}

/** What the chart makes of these values, as release `bunting` in the namespace `bunting-system`. */
export async function render(
  values: unknown = {},
  release = "bunting",
  namespace = "bunting-system",
  chart = chartFolder,
): Promise<Manifest[]> {
  const { code, stdout, stderr } = await helm(["template", release, chart, "--namespace", namespace], {
    values,
  });
  if (code !== 0) throw new Error(stderr);
  return parseManifests(stdout);
}

/** The error with which Helm refuses these values. */
export async function refusal(values: unknown, chart = chartFolder): Promise<string> {
  const { code, stdout, stderr } = await helm(["template", "bunting", chart], { values });
  if (code === 0) throw new Error(`the chart accepted the values and rendered ${stdout.length} characters`);
  return stderr;
}

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw error;
      return document.toJS() as Manifest | null;
    })
    .filter((manifest) => manifest !== null);
}

/** The only manifest of a kind. */
export function one(manifests: readonly Manifest[], kind: string): Manifest {
  const [found, another] = manifests.filter((manifest) => manifest.kind === kind);
  if (found === undefined || another !== undefined) throw new Error(`not exactly one ${kind}`);
  return found;
}
