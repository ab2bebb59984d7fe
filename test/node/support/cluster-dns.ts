import { addresses, registryName } from "./addresses.js";

const metadata = { name: "coredns", namespace: "kube-system" };
const labels = { "k8s-app": "kube-dns" };
const role = "system:coredns";
const rbac = "rbac.authorization.k8s.io";

/** Cluster DNS, as a list of objects to apply. */
export const clusterDns = {
  apiVersion: "v1",
  kind: "List",
  items: [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
      data: { Corefile: ".:53 {\n  errors\n  ready\n  kubernetes cluster.local in-addr.arpa ip6.arpa\n}\n" },
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: role },
      rules: [
        { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
        { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: role },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", ...metadata }],
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...metadata, name: "kube-dns" },
      spec: {
        clusterIP: addresses.dns,
        selector: labels,
        ports: [
          { name: "udp", port: 53, protocol: "UDP" },
          { name: "tcp", port: 53, protocol: "TCP" },
        ],
      },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: "coredns",
            dnsPolicy: "Default",
            // The tests that drain the node leave it where it is.
            tolerations: [{ operator: "Exists" }],
            containers: [
              {
                name: "coredns",
                image: `${registryName}/coredns:1`,
                args: ["-conf", "/etc/coredns/Corefile"],
                readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
                volumeMounts: [{ name: "configuration", mountPath: "/etc/coredns" }],
              },
            ],
            volumes: [{ name: "configuration", configMap: { name: "coredns" } }],
          },
        },
      },
    },
  ],
};
