/** Something that the operator may do. The chart's roles and docs/reference/operator-permissions.md are made of these. */
export interface Permission {
  /** Where it is granted: in the whole cluster, or in the operator's namespace alone. */
  readonly scope: "cluster" | "namespace";
  /** Empty for the core group. */
  readonly apiGroup: string;
  readonly resources: readonly string[];
  /** Only objects of these names; `{option}` stands for the value of an option. */
  readonly names?: readonly string[];
  readonly verbs: readonly string[];
  /** The option that needs it, and the values with which it does; absent: it is always granted. */
  readonly onlyIf?: { readonly option: string; readonly is: readonly string[] };
  /** The task that needs the permission. */
  readonly why: string;
}

export const onlyWithElection = { option: "leader-elect", is: ["true"] } as const;
export const withChecks = { option: "flags-validation", is: ["true"] } as const;
export const withAgents = { option: "status-agents", is: ["true"] } as const;
export const withDirectWatches = { option: "provider-kubernetes", is: ["direct"] } as const;
export const withFlagds = { option: "flagd", is: ["true"] } as const;
export const ofAgentRollouts = {
  scope: "cluster",
  onlyIf: { option: "agent-rollouts", is: ["true"] },
} as const;
export const ofInlineFlags = {
  scope: "cluster",
  onlyIf: { option: "inline-flags", is: ["true"] },
} as const;
export const withOwnAuthority = { option: "certificates", is: ["own"] } as const;
export const withProxySecurity = { option: "proxy-security", is: ["mixed", "on"] } as const;
