import type { NamedAddress } from "../operator/object-address.js";

/**
 * What lets a proxy read one Secret, and hear of its changes: a Role of the namespace and its RoleBinding. It can read no other, and can't look which
 * there are. The Secret has to name the host that gets it, in an annotation, which only its owner writes.
 */
export function credentialsGrant(secret: NamedAddress, proxy: NamedAddress): readonly object[] {
  const { namespace } = secret;
  const name = `bunting-remote-${secret.name}`;
  const group = "rbac.authorization.k8s.io";
  const metadata = { name, namespace };
  const rule = {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [secret.name],
    verbs: ["get", "watch"],
  };
  return [
    { apiVersion: `${group}/v1`, kind: "Role", metadata, rules: [rule] },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: group, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name: proxy.name, namespace: proxy.namespace }],
    },
  ];
}
