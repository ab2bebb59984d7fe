/**
 * Generates what the operator's Helm chart shares with other parts: the options, the permissions that they need, the table of values in its README,
 * and copies of the resource types.
 */
import { operatorOptionTable } from "@bunting/operator/internal/options.js";
import { permissions } from "@bunting/operator/internal/permissions.js";
import { ChartFolder } from "./chart-folder.js";
import { chartOptions } from "./chart-options.js";

const chart = new ChartFolder("deploy/helm/bunting-operator");

/** Set by the chart itself, or without sense in a Pod. */
const notInChart = [
  "health-probe-bind-address",
  "metrics-bind-address",
  "webhook-port",
  "webhook-service",
  "namespace",
  "pod-name",
  "proxy-service-account",
  "certificates",
  "webhook-cert-path",
  "webhook-cert-name",
  "webhook-cert-key",
  "webhook-ca-name",
  "config",
  "kubeconfig",
  "kube-context",
  "service-account-directory",
];

chart.copyAll("deploy/crds", "files/crds", (name) => name.endsWith(".yaml") && name !== "kustomization.yaml");
await chart.writeJson("files/permissions.json", permissions);
await chart.writeOptions(chartOptions(operatorOptionTable, notInChart), { program: "operator" });
