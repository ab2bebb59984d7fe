/** Something that the operator may do. The chart's roles and docs/reference/operator-permissions.md are made of these. */
export interface Permission {
  /** Where it is granted: in the whole cluster, or in the operator's namespace alone. */
  readonly scope: "cluster" | "namespace";
  /** Empty for the core group. */
  readonly apiGroup: string;
  readonly resources: readonly string[];
  /** Only objects of these names. */
  readonly names?: readonly string[];
  readonly verbs: readonly string[];
  /** The option that needs it, and its value; absent: it is always granted. */
  readonly onlyIf?: { readonly option: string; readonly is: string };
  /** What it is for. */
  readonly why: string;
}

/** All that the operator may do. A test compares this with what an API server saw it do: neither may be more. */
export const permissions: readonly Permission[] = Object.freeze([
  {
    scope: "namespace",
    apiGroup: "coordination.k8s.io",
    resources: ["leases"],
    names: ["bunting-operator"],
    verbs: ["get", "update"],
    onlyIf: { option: "leader-elect", is: "true" },
    why: "elects the replica that leads",
  },
  {
    scope: "namespace",
    apiGroup: "coordination.k8s.io",
    resources: ["leases"],
    verbs: ["create"],
    onlyIf: { option: "leader-elect", is: "true" },
    why: "makes the Lease of that election: a name can't be required of what is created",
  },
  {
    scope: "namespace",
    apiGroup: "coordination.k8s.io",
    resources: ["leases"],
    names: ["131bf64c.openfeature.dev"],
    verbs: ["get"],
    onlyIf: { option: "takeover", is: "false" },
    why: "sees whether the open-feature-operator runs",
  },
]);
