/**
 * Generates what the operator's Helm chart shares with other parts: the options, the permissions that they need, the table of values in its README,
 * the webhooks, and copies of the resource types, policies, alerts and dashboard. The roles and webhooks of deploy/kustomize/operator are made of the same.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { webhookConfigurations } from "@bunting/operator/internal/desired/webhook-configurations.js";
import { operatorOptionTable } from "@bunting/operator/internal/options.js";
import { isGranted, nameWith, type Permission } from "@bunting/operator/internal/permission.js";
import { permissions } from "@bunting/operator/internal/permissions.js";
import { stringify } from "yaml";
import { ChartFolder } from "./chart-folder.js";
import { flagName, publicOptions, type OptionSpec } from "@bunting/runtime";
import { chartOptions } from "./chart-options.js";
import { nameAlerts } from "./name-alerts.js";

const chart = new ChartFolder("deploy/helm/bunting-operator");

/** Set by the chart itself, or without sense in a Pod. */
const notInChart = [
  "health-probe-bind-address",
  "metrics-bind-address",
  "webhook-port",
  "webhook-service",
  "pod-selector",
  "namespace",
  "watch-namespaces",
  "pod-name",
  "proxy-service-account",
  "flag-reader-role",
  "certificates",
  "webhook-cert-path",
  "webhook-cert-name",
  "webhook-cert-key",
  "webhook-ca-name",
  "extension-token-file",
  "config",
  "kubeconfig",
  "kube-context",
  "service-account-directory",
];

chart.copyAll("deploy/crds", "files/crds", (name) => name.endsWith(".yaml") && name !== "kustomization.yaml");
chart.copyAll(
  "deploy/policies",
  "files/policies",
  (name) => name.endsWith(".yaml") && name !== "kustomization.yaml",
);
await chart.writeJson("files/permissions.json", permissions);
writeCheckedPermissions();
// The template puts the names in.
await chart.writeJson(
  "files/webhooks.json",
  webhookConfigurations({
    namespace: "NAMESPACE",
    address: { service: { namespace: "NAMESPACE", name: "SERVICE" } },
    validatesFlags: true,
    takesInlineFlags: true,
  }),
);
chart.copy("deploy/alerts/operator.yaml", "files/alerts.yaml");
chart.copy("deploy/dashboards/operator.json", "files/dashboard.json");
await chart.writeOptions(chartOptions(operatorOptionTable, notInChart), {
  program: "operator",
  change: (schema) => nameAlerts(schema, chart),
});

const defaults = new Map(
  publicOptions(operatorOptionTable).map(([key, spec]) => [
    flagName(key, spec),
    spec.type.show(spec.default),
  ]),
);
const apiGroup = "rbac.authorization.k8s.io";
const operator = { name: "bunting-operator", namespace: "bunting-system" };
const proxy = { name: "bunting-operator-flagd-proxy", namespace: "bunting-system" };
const proxyRules = [
  { apiGroups: ["core.openfeature.dev"], resources: ["featureflags"], verbs: ["get", "list", "watch"] },
  { apiGroups: ["bunting.dev"], resources: ["injections"], verbs: ["get", "list", "watch"] },
];
writeManifests(
  "operator/rbac.yaml",
  "what the operator may do with its default options (docs/reference/operator-permissions.md), and its proxy",
  [
    ...boundRole("ClusterRole", operator, rulesOf("all", "cluster", "served")),
    ...boundRole("Role", operator, rulesOf("all", "namespace")),
    ...boundRole("ClusterRole", proxy, proxyRules),
  ],
);
const webhooks = { namespace: operator.namespace, address: { service: operator }, validatesFlags: true };
writeManifests(
  "operator/webhooks.yaml",
  "how the API server calls the operator",
  webhookConfigurations(webhooks),
);
// What an operator of one namespace has otherwise: that one is an example.
writeManifests(
  "operator-namespaces/webhooks.yaml",
  "how the API server calls an operator of some namespaces",
  webhookConfigurations({ ...webhooks, serves: ["shop"] }),
);
for (const [kind, scope] of [
  ["ClusterRole", "cluster"],
  ["Role", "namespace"],
] as const)
  writeManifests(
    `operator-namespaces/${kind === "Role" ? "role" : "cluster-role"}.yaml`,
    "what stays of the rights of an operator of some namespaces, outside of these",
    boundRole(kind, operator, rulesOf("named", scope)).slice(0, 1),
  );
writeManifests(
  "operator-namespaces/served/roles.yaml",
  "what an operator of some namespaces may do in each of them, and its proxy",
  [
    ...boundRole("Role", operator, rulesOf("named", "served"), "bunting-operator-served"),
    ...boundRole("Role", proxy, proxyRules),
  ].map(withoutNamespace),
);

/** Permissions of the operator, for `bunting check`: packages of services are not imported by the command, so that it has a copy. */
function writeCheckedPermissions(): void {
  const decisive = new Set(["watch-namespaces"]);
  for (const { onlyIf, names = [] } of permissions) {
    if (onlyIf !== undefined) decisive.add(onlyIf.option);
    for (const name of names)
      nameWith(name, (option) => {
        decisive.add(option);
        return "";
      });
  }
  const entries = Object.entries(operatorOptionTable) as [string, OptionSpec<unknown>][];
  const options = entries
    .map(([key, spec]) => ({ name: flagName(key, spec), spec }))
    .filter(({ name }) => decisive.has(name))
    .map(({ name, spec }) => [name, { env: spec.env, default: spec.type.show(spec.default) }]);
  const folder = path.join(path.dirname(import.meta.dirname), "packages/cli/src/operator/gen");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path.join(folder, "operator-permissions.ts"),
    "// Generated by scripts/generate-operator-chart.ts from packages/operator/src/permissions.ts.\n" +
      `export const operatorPermissions = ${JSON.stringify(permissions, null, 2)} as const;\n` +
      `export const permissionOptions = ${JSON.stringify(Object.fromEntries(options), null, 2)} as const;\n`,
  );
}

/** For a folder that says where the objects are. */
function withoutNamespace(object: object): object {
  const { metadata } = object as { readonly metadata: { readonly name: string } };
  return { ...object, metadata: { name: metadata.name } };
}

function writeManifests(file: string, what: string, objects: readonly object[]): void {
  const head = `# Generated by \`npm run generate\`: ${what}.\n`;
  const text = objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join("---\n");
  writeFileSync(path.join(path.dirname(import.meta.dirname), "deploy/kustomize", file), head + text);
}

function rulesOf(serving: "all" | "named", ...scopes: readonly Permission["scope"][]): object[] {
  return permissions
    .filter((each) => scopes.includes(each.scope) && isGranted(each, serving === "all"))
    .filter(({ onlyIf }) => onlyIf === undefined || onlyIf.is.includes(defaults.get(onlyIf.option) ?? ""))
    .map(({ apiGroup: group, resources, verbs, names }) => ({
      apiGroups: [group],
      resources,
      verbs,
      ...(names === undefined ? {} : { resourceNames: names.map((name) => nameWith(name, valueOf)) }),
    }));
}

function valueOf(option: string): string {
  return option === "namespace" ? operator.namespace : (defaults.get(option) ?? "");
}

/** A role, called as the ServiceAccount unless it is given a name, and its binding to that. */
function boundRole(
  kind: "ClusterRole" | "Role",
  account: typeof operator,
  rules: readonly object[],
  name = account.name,
): object[] {
  const { namespace } = account;
  const metadata = kind === "Role" ? { name, namespace } : { name };
  const apiVersion = `${apiGroup}/v1`;
  return [
    { apiVersion, kind, metadata, rules },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup, kind, name },
      subjects: [{ kind: "ServiceAccount", ...account }],
    },
  ];
}
