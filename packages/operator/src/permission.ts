/** Something that the operator may do. The chart's roles and docs/reference/operator-permissions.md are made of these. */
export interface Permission {
  /** Where it is granted: for objects of no namespace; in the namespaces that the operator serves, all or those of `--watch-namespaces`; or in its own alone. */
  readonly scope: "cluster" | "served" | "namespace";
  /** Only with that option, or only without; absent: in any case. */
  readonly serving?: "all" | "named";
  /** Empty for the core group. */
  readonly apiGroup: string;
  readonly resources: readonly string[];
  /** Only objects of these names; in them, `{option}` stands for the value of an option. */
  readonly names?: readonly string[];
  readonly verbs: readonly string[];
  /** The option that needs it, and the values with which it does; absent: it is always granted. */
  readonly onlyIf?: { readonly option: string; readonly is: readonly string[] };
  /** The task that needs the permission. */
  readonly why: string;
}

/** Whether an operator is granted it that serves all namespaces, or that serves those of `--watch-namespaces`; its other options may not need it. */
export function isGranted({ serving }: Permission, servesAll: boolean): boolean {
  return serving === undefined || (serving === "all") === servesAll;
}

/** A permission, and the same for other resources: `apiGroup/resource`, as in `apps/deployments`, or `/services` of the core group. */
export function andLikewise(
  permission: Permission,
  ...others: readonly `${string}/${string}`[]
): readonly Permission[] {
  const likewise = others.map((other) => {
    const [apiGroup = "", resource = ""] = other.split("/");
    return { ...permission, apiGroup, resources: [resource], why: "likewise" };
  });
  return [permission, ...likewise];
}

/** A name with the values of the options in it. */
export function nameWith(name: string, valueOf: (option: string) => string): string {
  return name.replace(/\{([\w-]+)\}/g, (_, option: string) => valueOf(option));
}

export const onlyWithElection = { option: "leader-elect", is: ["true"] } as const;
export const withChecks = { option: "flags-validation", is: ["true"] } as const;
export const withAgents = { option: "status-agents", is: ["true"] } as const;
export const withDirectWatches = { option: "provider-kubernetes", is: ["direct"] } as const;
export const withFlagds = { option: "flagd", is: ["true"] } as const;
export const withAgentRollouts = { option: "agent-rollouts", is: ["true"] } as const;
/** AgentRollouts are of no namespace, and so there are none for an operator of some namespaces. */
export const ofAgentRollouts = { serving: "all", onlyIf: withAgentRollouts } as const;
/** Likewise. */
export const ofExtensions = {
  scope: "cluster",
  serving: "all",
  apiGroup: "bunting.dev",
  onlyIf: { option: "extensions", is: ["true"] },
} as const;
export const ofInlineFlags = {
  scope: "served",
  onlyIf: { option: "inline-flags", is: ["true"] },
} as const;
export const withOwnAuthority = { option: "certificates", is: ["own"] } as const;
export const withProxySecurity = { option: "proxy-security", is: ["mixed", "on"] } as const;
