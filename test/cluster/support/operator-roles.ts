import { isGranted, nameWith, type Permission } from "@bunting/operator/internal/permission.js";
import { permissions } from "@bunting/operator/internal/permissions.js";
import { operatorOptionTable } from "@bunting/operator/internal/options.js";
import { flagName, readOptions, type OptionSpec } from "@bunting/runtime";
import type { Cluster } from "./cluster.js";
import type { ServiceAccount } from "./service-account.js";

const rbac = "/apis/rbac.authorization.k8s.io/v1";

/**
 * What these arguments of the operator need.
 *
 * @param namespace its own
 */
export async function permissionsOf(
  args: readonly string[],
  namespace?: string,
): Promise<readonly Permission[]> {
  const env = namespace === undefined ? {} : { POD_NAMESPACE: namespace };
  const { options } = await readOptions(operatorOptionTable, { argv: args, env, readsConfig: false });
  const entries = Object.entries(operatorOptionTable) as [keyof typeof options, OptionSpec<unknown>][];
  const texts = new Map(entries.map(([key, spec]) => [flagName(key, spec), spec.type.show(options[key])]));
  const nameOf = (name: string): string => nameWith(name, (option) => texts.get(option) ?? "");
  const servesAll = options.watchNamespaces.length === 0;
  const granted = permissions.filter(
    (each) =>
      isGranted(each, servesAll) &&
      (each.onlyIf === undefined || each.onlyIf.is.includes(texts.get(each.onlyIf.option) ?? "")),
  );
  return granted.map((each) =>
    each.names === undefined ? each : { ...each, names: each.names.map(nameOf) },
  );
}

/**
 * Grants the account these permissions, as the chart does, and nothing else; resolves once they count.
 *
 * @param served the namespaces that it serves; undefined: all
 */
export async function grant(
  cluster: Cluster,
  account: Pick<ServiceAccount, "namespace" | "name">,
  granted: readonly Permission[],
  served?: readonly string[],
): Promise<void> {
  const { namespace, name } = account;
  const wide = `${namespace}-${name}`;
  const rulesOf = (...scopes: readonly Permission["scope"][]): object[] =>
    granted
      .filter(({ scope }) => scopes.includes(scope))
      .map(({ apiGroup, resources, verbs, names = [] }) => ({
        apiGroups: [apiGroup],
        resources,
        verbs,
        resourceNames: names,
      }));
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io" };
  await cluster.api.apply(`${rbac}/clusterroles/${wide}`, {
    apiVersion,
    kind: "ClusterRole",
    metadata: { name: wide },
    rules: served === undefined ? rulesOf("cluster", "served") : rulesOf("cluster"),
  });
  await cluster.api.apply(`${rbac}/clusterrolebindings/${wide}`, {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: wide },
    roleRef: { ...roleRef, kind: "ClusterRole", name: wide },
    subjects,
  });
  const bind = async (at: string, role: string, rules: object[]): Promise<void> => {
    const metadata = { name: role, namespace: at };
    const inNamespace = `${rbac}/namespaces/${at}`;
    await cluster.api.apply(`${inNamespace}/roles/${role}`, { apiVersion, kind: "Role", metadata, rules });
    await cluster.api.apply(`${inNamespace}/rolebindings/${role}`, {
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { ...roleRef, kind: "Role", name: role },
      subjects,
    });
  };
  await bind(namespace, name, rulesOf("namespace"));
  for (const each of served ?? []) await bind(each, `${wide}-served`, rulesOf("served"));
}
