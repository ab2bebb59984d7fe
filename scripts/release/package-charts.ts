import { readdirSync } from "node:fs";
import path from "node:path";
import { buildHelm } from "../helm-machinery.js";
import { run } from "../images/buildah.js";

const charts = path.resolve(import.meta.dirname, "../../deploy/helm");

/** Packages both charts into a directory, as `helm push` and `helm install` take them. */
export async function packageCharts(directory: string): Promise<void> {
  const helm = await findHelm();
  for (const entry of readdirSync(charts, { withFileTypes: true })) {
    if (entry.isDirectory())
      run(helm, ["package", path.join(charts, entry.name), "--destination", directory]);
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
