/**
 * Which caller gets which answer, in each way to start the proxy. docs/reference/access.md has these tables (`npm run generate`), and
 * test/cluster/access-matrix.test.ts asks a real proxy every one of these questions. Nothing else reads them: they say what is promised,
 * not how it is decided.
 */

/** What the caller asks for; it runs in the namespace team-a as the ServiceAccount web, if it runs anywhere. */
export const topics = {
  own: "a FeatureFlag of its own namespace",
  ownMissing: "one of its own namespace that does not exist",
  ownInRole: "one of its own namespace that a Role lets the ServiceAccounts of the namespace `get`",
  foreign: "one of another namespace",
  foreignMissing: "one of another namespace that does not exist",
  sharedWithNamespace: "one of another namespace, shared with `team-a`",
  sharedWithAccount: "one of another namespace, shared with `team-a/web`",
  sharedWithOther: "one of another namespace, shared with `team-a/other`",
  inRole: "one of another namespace that a Role lets the ServiceAccount `get`",
} as const;
export type TopicRelation = keyof typeof topics;

export const callers = {
  nothing: "presents nothing",
  token: "a token for `bunting`",
  otherAudience: "a token for another audience",
  deletedAccount: "a token whose ServiceAccount was deleted",
  pod: "from the address of its Pod",
  hostNetwork: "from the address of a Pod with hostNetwork",
  noPod: "from an address that no Pod has",
} as const;
export type CallerKind = keyof typeof callers;

export const answers = {
  flags: "is served",
  held: "waits until it exists",
  denied: "PERMISSION_DENIED",
  unknown: "UNAUTHENTICATED",
} as const;
export type MatrixAnswer = keyof typeof answers;

export interface MatrixMode {
  /** Arguments of the proxy. */
  readonly args: readonly string[];
  /** What a reader has to know about it; may be empty. */
  readonly note: string;
  readonly callers: Readonly<Partial<Record<CallerKind, Readonly<Record<TopicRelation, MatrixAnswer>>>>>;
}

const everything = {
  own: "flags",
  ownMissing: "held",
  ownInRole: "flags",
  foreign: "flags",
  foreignMissing: "held",
  sharedWithNamespace: "flags",
  sharedWithAccount: "flags",
  sharedWithOther: "flags",
  inRole: "flags",
} as const;
const nothing = {
  own: "unknown",
  ownMissing: "unknown",
  ownInRole: "unknown",
  foreign: "unknown",
  foreignMissing: "unknown",
  sharedWithNamespace: "unknown",
  sharedWithAccount: "unknown",
  sharedWithOther: "unknown",
  inRole: "unknown",
} as const;
const ownAndShared = {
  own: "flags",
  ownMissing: "held",
  ownInRole: "flags",
  foreign: "denied",
  foreignMissing: "denied",
  sharedWithNamespace: "flags",
  sharedWithAccount: "flags",
  sharedWithOther: "denied",
  inRole: "denied",
} as const;
const inRoleAndShared = {
  own: "denied",
  ownMissing: "denied",
  ownInRole: "flags",
  foreign: "denied",
  foreignMissing: "denied",
  sharedWithNamespace: "flags",
  sharedWithAccount: "flags",
  sharedWithOther: "denied",
  inRole: "flags",
} as const;

export const accessMatrix: readonly MatrixMode[] = [
  {
    args: ["--auth=anonymous"],
    note: "The default. Who can reach the port can read everything, whatever it presents.",
    callers: { nothing: everything, token: everything, otherAudience: everything },
  },
  {
    args: ["--auth=optional"],
    note: "For the time of a migration: it protects nothing, because a caller can leave its token out. Those who present one already get the answers that they will get with `--auth=token`.",
    callers: { nothing: everything, token: ownAndShared, otherAudience: nothing },
  },
  {
    args: ["--auth=token"],
    note: "`--authorize=own-namespace` is the default. A token outlives its ServiceAccount until it expires, an hour at most where the kubelet made it.",
    callers: { nothing, token: ownAndShared, otherAudience: nothing, deletedAccount: ownAndShared },
  },
  {
    args: ["--auth=token", "--token-review"],
    note: "A token ends with its Pod and its ServiceAccount.",
    callers: { nothing, token: ownAndShared, deletedAccount: nothing },
  },
  {
    args: ["--auth=token", "--authorize=rbac"],
    note: "RBAC alone decides, in its own namespace too; a FeatureFlag can still be shared by its annotation.",
    callers: { nothing, token: inRoleAndShared, otherAudience: nothing },
  },
  {
    args: ["--auth=token", "--authorize=all"],
    note: "",
    callers: { nothing, token: everything, otherAudience: nothing },
  },
  {
    args: ["--auth=pod-ip"],
    note: "Stock sidecars, which can present nothing, are told apart by their address; see [what that cannot promise](../security/pod-ip.md).",
    callers: { pod: ownAndShared, hostNetwork: nothing, noPod: nothing },
  },
  {
    args: ["--auth=pod-ip", "--authorize=rbac"],
    note: "",
    callers: { pod: inRoleAndShared, hostNetwork: nothing, noPod: nothing },
  },
];
