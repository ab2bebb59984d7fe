import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { goModuleSource } from "../../../scripts/go-module-source.js";
import { openFeatureOperator } from "../../../scripts/upstream-suite.js";
import { runTool } from "./tool.js";

/**
 * Makes the chart of the open-feature-operator in this directory, from its Go module, as its Makefile does for a release: most of its templates
 * come out of kustomize and a script of its own. Undefined, after a sentence that says so, where the module can't be had.
 */
export async function operatorChart(directory: string): Promise<string | undefined> {
  const source = goModuleSource(...openFeatureOperator);
  if (source === undefined) return undefined;
  const chart = path.join(directory, "chart/open-feature-operator");
  cpSync(path.join(source, "chart/open-feature-operator"), chart, { recursive: true });
  // Go's cache is read-only, and so are copies of it.
  execFileSync("chmod", ["-R", "u+w", directory]);
  const kubectl = path.join(process.env["BUNTING_CLUSTER_BIN"] ?? "", "kubectl");
  const { code, stdout, stderr } = await runTool(kubectl, [
    "kustomize",
    path.join(source, "config/overlays/helm"),
  ]);
  if (code !== 0) throw new Error(stderr);
  mkdirSync(path.join(chart, "templates"), { recursive: true });
  writeFileSync(path.join(chart, "templates/rendered.yaml"), stdout);
  execFileSync("bash", [path.join(source, ".github/scripts/strip-kustomize-helm.sh")], {
    cwd: directory,
    stdio: "ignore",
  });
  return chart;
}
