import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse } from "yaml";
import { buildHelm } from "../helm-machinery.js";
import { run } from "../images/buildah.js";
import { writeChartLayout, type ChartMetadata } from "./chart-layout.js";
import { linksOutside } from "./links-outside.js";

const root = path.resolve(import.meta.dirname, "../..");
const charts = "deploy/helm";

/** Packages both charts into a directory: archives, as `helm push` and `helm install` take them, and each as an OCI layout, in a folder of its name. */
export async function packageCharts(directory: string): Promise<void> {
  const helm = await findHelm();
  const staged = mkdtempSync(path.join(tmpdir(), "bunting-charts-"));
  try {
    for (const entry of readdirSync(path.join(root, charts), { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      const folder = path.join(staged, entry.name);
      const chart = stageChart(`${charts}/${entry.name}`, folder);
      run(helm, ["package", folder, "--destination", directory]);
      const archive = path.join(directory, `${chart.name}-${chart.version}.tgz`);
      writeChartLayout(archive, chart, path.join(directory, chart.name));
    }
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** Copies a chart, whose page is read where there is nothing but the chart: in its archive, and on Artifact Hub. */
function stageChart(source: string, target: string): ChartMetadata {
  cpSync(path.join(root, source), target, { recursive: true });
  const chart = parse(readFileSync(path.join(target, "Chart.yaml"), "utf8")) as ChartMetadata;
  const page = path.join(target, "README.md");
  const isPacked = (file: string): boolean =>
    file.startsWith(`${source}/`) && existsSync(path.join(root, file));
  const text = linksOutside(readFileSync(page, "utf8"), `${source}/README.md`, {
    isPacked,
    version: chart.version,
  });
  writeFileSync(page, text);
  return chart;
}

/** BUNTING_HELM names one, as for the tests; else it is built. */
async function findHelm(): Promise<string> {
  const named = process.env["BUNTING_HELM"];
  if (named !== undefined) return named;
  const built = await buildHelm();
  if ("missing" in built) throw new Error(`the charts can't be packaged: ${built.missing}`);
  return path.join(built.directory, "helm");
}
