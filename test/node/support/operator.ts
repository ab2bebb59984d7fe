import { helm, operatorChartFolder } from "../../helm/support/chart.js";
import { eventually } from "../../support/event-queue.js";
import { registryName } from "./addresses.js";
import type { Node } from "./node.js";
import { bareTemplate } from "./workload.js";

export const operatorNamespace = "bunting-operator-system";

/**
 * Installs the operator by its chart, with the images of the registry, and waits until it is ready. The resource types are there already.
 *
 * @param settings further arguments of Helm, which win: `--set=…`, `--values=…`
 */
export async function installOperator(node: Node, ...settings: readonly string[]): Promise<void> {
  await run(node, [
    ...["upgrade", "--install", "bunting-operator", operatorChartFolder, "--create-namespace"],
    ...["--wait", "--timeout=120s", "--set=crds.install=false"],
    ...[`--set=image.repository=${registryName}/operator`, "--set-string=image.tag=1"],
    ...[`--set=options.sidecar-image=${registryName}/agent`, "--set-string=options.sidecar-tag=1"],
    ...[`--set=options.flagd-image=${registryName}/agent`, "--set-string=options.flagd-tag=1"],
    ...[`--set=options.proxy-image=${registryName}/proxy`, "--set-string=options.proxy-tag=1"],
    ...settings,
  ]);
}

/**
 * Waits until the API server asks an operator that refuses Pods without their source. Before a leader has told it whom to trust, which after an
 * uninstalled operator takes until the Lease of that has lapsed, it admits Pods as they are.
 */
export async function untilSourcesAreAwaited(node: Node, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
  const body = {
    metadata: { name: "probe", ...bareTemplate("nowhere").metadata },
    spec: bareTemplate("").spec,
  };
  const isRefused = async (): Promise<boolean> =>
    (await node.cluster.api.request("POST", path, { body })).text.includes("no FeatureFlagSource");
  await eventually(isRefused, "a Pod without its source is refused", 60_000);
}

export async function uninstallOperator(node: Node): Promise<void> {
  await run(node, ["uninstall", "bunting-operator", "--wait", "--timeout=60s"]);
}

/** The names of the operator's Pods. */
export async function operatorPods(node: Node): Promise<readonly string[]> {
  const { items } = await node.cluster.api.list(`/api/v1/namespaces/${operatorNamespace}/pods`);
  return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("bunting-operator-"));
}

async function run(node: Node, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await helm([...args, "--namespace", operatorNamespace], {
    kubeconfig: node.cluster.kubeconfig,
  });
  if (code !== 0) throw new Error(stdout + stderr);
}
