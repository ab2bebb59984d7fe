/** Types of Kubernetes' core that several controllers read, as they are named in URLs. */
export const podType = { group: "", version: "v1", plural: "pods" } as const;
export const configMapType = { group: "", version: "v1", plural: "configmaps" } as const;
export const namespaceType = {
  group: "",
  version: "v1",
  plural: "namespaces",
  isClusterScoped: true,
} as const;
