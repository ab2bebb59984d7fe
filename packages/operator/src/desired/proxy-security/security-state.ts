/** What the operator is asked for. `mixed` is for clusters with clients that can't prove who they are, such as stock sidecars. */
export type SecurityTarget = "off" | "mixed" | "on";

/** Whom a replica of the proxy serves: clients in plaintext, TLS with tokens beside them, or nothing but TLS with tokens. */
export type ProxyAccess = "plain" | "both" | "secured";

/** What sidecars of new Pods are given: nothing, or a token and the authority of the proxy, with which they speak TLS. */
export type PodAccess = "plain" | "secured";

export const securityStates = [
  "off",
  "opening",
  "mixed",
  "closing",
  "on",
  "reopening",
  "leaving",
  "ending",
] as const;
export type SecurityState = (typeof securityStates)[number];

/** What is stored of the transition, so that every replica of the operator goes by the same. */
export interface Security {
  readonly state: SecurityState;
  /** When the state was entered, in ms since 1970. */
  readonly sinceMs: number;
}

/** What holds in each state. A replica of the proxy may have what held before, as long as its rollout lasts; a Pod for as long as it lives. */
export const securityAccess: Readonly<
  Record<SecurityState, { readonly proxy: ProxyAccess; readonly pods: PodAccess }>
> = Object.freeze({
  off: { proxy: "plain", pods: "plain" },
  opening: { proxy: "both", pods: "plain" },
  mixed: { proxy: "both", pods: "secured" },
  closing: { proxy: "secured", pods: "secured" },
  on: { proxy: "secured", pods: "secured" },
  reopening: { proxy: "both", pods: "secured" },
  leaving: { proxy: "both", pods: "plain" },
  ending: { proxy: "plain", pods: "plain" },
});

/** What the leader sees of the cluster. Undefined: it was not looked at. */
export interface SecurityView {
  readonly nowMs: number;
  /** Replicas of the proxy, those that end included, that do not serve yet as the state has it; undefined also while their Deployment changes. */
  readonly otherProxies: number | undefined;
  /** Whether the proxy's certificate is there, and in every namespace that asks for flags the authority by which it is verified. */
  readonly hasAuthority: boolean;
  /** Pods that a proxy which serves `secured` alone would refuse. */
  readonly plainPods: number | undefined;
  /** Pods that a proxy which serves `plain` alone would refuse. */
  readonly securedPods: number | undefined;
}

/** By then all API servers and all replicas of the operator have heard of what new Pods are given, and Pods that they let in before can be seen. */
export const podSettleMs = 60_000;

/**
 * The state that follows; the same one if it has to wait. Call it again whenever something may have changed.
 *
 * | state | wanted | when | then |
 * | --- | --- | --- | --- |
 * | off | mixed, on | the certificate and the authority are there | opening |
 * | opening | off | | ending |
 * | opening | mixed, on | all replicas of the proxy serve both, and the authority is there | mixed |
 * | mixed | off | | leaving |
 * | mixed | on | `podSettleMs` later, and no Pod is plain | closing |
 * | closing | on | all replicas of the proxy are secured | on |
 * | closing, on | off, mixed | | reopening |
 * | reopening | any | all replicas of the proxy serve both | mixed |
 * | leaving | mixed, on | | mixed |
 * | leaving | off | `podSettleMs` later, and no Pod is secured | ending |
 * | ending | off | all replicas of the proxy are plain | off |
 * | ending | mixed, on | | opening |
 *
 * From `on` nothing that a Pod does leads back: who makes a plain one must not be able to have the proxy opened for it.
 */
export function nextSecurityState(
  { state, sinceMs }: Security,
  target: SecurityTarget,
  { nowMs, otherProxies, hasAuthority, plainPods, securedPods }: SecurityView,
): SecurityState {
  const isSettled = hasSettled(sinceMs, nowMs);
  const isRolledOut = otherProxies === 0;
  switch (state) {
    case "off":
      return target !== "off" && hasAuthority ? "opening" : state;
    case "opening":
      if (target === "off") return "ending";
      return isRolledOut && hasAuthority ? "mixed" : state;
    case "mixed":
      if (target === "off") return "leaving";
      return target === "on" && isSettled && plainPods === 0 ? "closing" : state;
    case "closing":
      if (target !== "on") return "reopening";
      return isRolledOut ? "on" : state;
    case "on":
      return target === "on" ? state : "reopening";
    case "reopening":
      return isRolledOut ? "mixed" : state;
    case "leaving":
      if (target !== "off") return "mixed";
      return isSettled && securedPods === 0 ? "ending" : state;
    case "ending":
      if (target !== "off") return "opening";
      return isRolledOut ? "off" : state;
  }
}

/** A time that is still to come was told by another clock, or before the clock was set back: Pods are counted a while after their Injections anyway. */
function hasSettled(sinceMs: number, nowMs: number): boolean {
  return nowMs < sinceMs || nowMs >= sinceMs + podSettleMs;
}

/** What the state waits for, as its next step is read from the view. */
export type SecurityWait = "nothing" | "authority" | "proxies" | "settling" | "plainPods" | "securedPods";

export function securityWait(
  { state, sinceMs }: Security,
  target: SecurityTarget,
  { nowMs, hasAuthority, otherProxies }: SecurityView,
): SecurityWait {
  const isSettled = hasSettled(sinceMs, nowMs);
  switch (state) {
    case "off":
      return target === "off" ? "nothing" : "authority";
    case "opening":
      return !hasAuthority && otherProxies === 0 ? "authority" : "proxies";
    case "closing":
    case "reopening":
    case "ending":
      return "proxies";
    case "mixed":
      if (target !== "on") return "nothing";
      return isSettled ? "plainPods" : "settling";
    case "leaving":
      return isSettled ? "securedPods" : "settling";
    case "on":
      return "nothing";
  }
}
