import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { buildHelm } from "../helm-machinery.js";
import { run } from "../images/buildah.js";
import { writeChartLayout, type ChartMetadata } from "./chart-layout.js";

const charts = path.resolve(import.meta.dirname, "../../deploy/helm");

/** Packages both charts into a directory: archives, as `helm push` and `helm install` take them, and each as an OCI layout, in a folder of its name. */
export async function packageCharts(directory: string): Promise<void> {
  const helm = await findHelm();
  for (const entry of readdirSync(charts, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    run(helm, ["package", path.join(charts, entry.name), "--destination", directory]);
    const chart = parse(readFileSync(path.join(charts, entry.name, "Chart.yaml"), "utf8")) as ChartMetadata;
    const archive = path.join(directory, `${chart.name}-${chart.version}.tgz`);
    writeChartLayout(archive, chart, path.join(directory, chart.name));
  }
}

/** BUNTING_HELM names one, as for the tests; else it is built. */
async function findHelm(): Promise<string> {
  const named = process.env["BUNTING_HELM"];
  if (named !== undefined) return named;
  const built = await buildHelm();
  if ("missing" in built) throw new Error(`the charts can't be packaged: ${built.missing}`);
  return path.join(built.directory, "helm");
}
