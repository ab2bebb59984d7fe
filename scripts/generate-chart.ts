/**
 * Generates what the proxy's Helm chart shares with other parts: the proxy's options (for the schema of values, their documentation, and the checks
 * in templates), the table of values in its README, and copies of the resource types, alerts and dashboards.
 */
import { proxyOptionTable } from "@bunting/proxy/internal/options.js";
import { ChartFolder } from "./chart-folder.js";
import { chartOptions } from "./chart-options.js";
import { nameAlerts } from "./name-alerts.js";

const chart = new ChartFolder("deploy/helm/bunting");

/** Set by the chart itself, or without sense in a Pod. */
const notInChart = [
  "port",
  "management-port",
  "host",
  "config",
  "kubeconfig",
  "kube-context",
  "service-account-directory",
  "allow-file-selectors",
];

chart.copy("deploy/alerts/bunting.yaml", "files/alerts.yaml");
chart.copyAll(
  "deploy/dashboards",
  "files/dashboards",
  (name) => name.endsWith(".json") && name !== "operator.json",
);
chart.copyAll("deploy/crds", "files/crds", (name) => name.endsWith(".yaml") && name !== "kustomization.yaml");
await chart.writeOptions(chartOptions(proxyOptionTable, notInChart), {
  program: "proxy",
  change: (schema) => nameAlerts(schema, chart),
});
