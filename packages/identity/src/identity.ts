/** The identity of a caller: a ServiceAccount of the cluster. Anonymous callers have none (undefined). */
export interface Identity {
  /** The kind of credential. */
  readonly kind: "token" | "certificate" | "pod-ip";
  readonly namespace: string;
  readonly serviceAccount: string;
  /** The uid of the ServiceAccount; a ServiceAccount that is deleted and created again is another one. */
  readonly uid?: string;
  /** The Pod that the credential is bound to, or that has the address. */
  readonly pod?: string;
  readonly podUid?: string;
  /** Expiry of the credential, in ms since the epoch; absent if it does not expire. */
  readonly expiresAtMs?: number;
}

/** The user name that Kubernetes gives a ServiceAccount, in RBAC and audit logs too. */
export function identityName({ namespace, serviceAccount }: Identity): string {
  return `system:serviceaccount:${namespace}:${serviceAccount}`;
}
