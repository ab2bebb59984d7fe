import type { Permission } from "@bunting/operator/internal/permission.js";
import { permissions } from "@bunting/operator/internal/permissions.js";
import { operatorOptionTable } from "@bunting/operator/internal/options.js";
import { flagName, readOptions, type OptionSpec } from "@bunting/runtime";
import type { Cluster } from "./cluster.js";
import type { ServiceAccount } from "./service-account.js";

const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** What these arguments of the operator need. */
export async function permissionsOf(args: readonly string[]): Promise<readonly Permission[]> {
  const { options } = await readOptions(operatorOptionTable, { argv: args, env: {}, readsConfig: false });
  const entries = Object.entries(operatorOptionTable) as [keyof typeof options, OptionSpec<unknown>][];
  const texts = new Map(entries.map(([key, spec]) => [flagName(key, spec), spec.type.show(options[key])]));
  const nameOf = (name: string): string =>
    name.startsWith("{") ? (texts.get(name.slice(1, -1)) ?? "") : name;
  const granted = permissions.filter(
    ({ onlyIf }) => onlyIf === undefined || onlyIf.is.includes(texts.get(onlyIf.option) ?? ""),
  );
  return granted.map((each) =>
    each.names === undefined ? each : { ...each, names: each.names.map(nameOf) },
  );
}

/** Grants the account these permissions, as the chart does, and nothing else; resolves once they count. */
export async function grant(
  cluster: Cluster,
  account: ServiceAccount,
  granted: readonly Permission[],
): Promise<void> {
  const { namespace, name } = account;
  const wide = `${namespace}-${name}`;
  const rulesOf = (scope: Permission["scope"]): object[] =>
    granted
      .filter((each) => each.scope === scope)
      .map(({ apiGroup, resources, verbs, names = [] }) => ({
        apiGroups: [apiGroup],
        resources,
        verbs,
        resourceNames: names,
      }));
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io" };
  const inNamespace = `${rbac}/namespaces/${namespace}`;
  await cluster.api.apply(`${rbac}/clusterroles/${wide}`, {
    apiVersion,
    kind: "ClusterRole",
    metadata: { name: wide },
    rules: rulesOf("cluster"),
  });
  await cluster.api.apply(`${rbac}/clusterrolebindings/${wide}`, {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: wide },
    roleRef: { ...roleRef, kind: "ClusterRole", name: wide },
    subjects,
  });
  await cluster.api.apply(`${inNamespace}/roles/${name}`, {
    apiVersion,
    kind: "Role",
    metadata: { name, namespace },
    rules: rulesOf("namespace"),
  });
  await cluster.api.apply(`${inNamespace}/rolebindings/${name}`, {
    apiVersion,
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { ...roleRef, kind: "Role", name },
    subjects,
  });
}
