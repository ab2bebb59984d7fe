/** The addresses on the node. Pods reach each other, Services and the node; there is no way out. */
export const addresses = {
  node: process.env["BUNTING_NODE_ADDRESS"] ?? "",
  /** The range of Services, and one of them. */
  services: process.env["BUNTING_NODE_SERVICES"] ?? "",
  dns: "10.96.0.10",
  pods: "10.244.0.0/24",
  /** Policies name this port, since many API servers have it. */
  apiServerPort: 6443,
  registryPort: 5000,
} as const;

/** The name of the registry in image references; only containerd knows it. */
export const registryName = "bunting.test";
