/** What became of a Pod's request for flags. */
export type InjectionVerdict =
  | "not-asked" // the Pod has no annotation that asks for flags.
  | "by-hand" // it asks no operator, and has an agent.
  | "injected" // it has its sidecar, or its variables, from us.
  | "foreign" // it has a container of the sidecar's name that we did not make.
  | "not-injected" // it has nothing.
  | "no-pod"; // it is the template of a Deployment that has no Pods.

/** Why a Pod has flags or has none, as `--output=json` prints it. */
export interface PodExplanation {
  readonly namespace: string;
  readonly name: string;
  readonly verdict: InjectionVerdict;
  /** Of `not-injected`: the word of the Pod's annotation, or `Missed`. */
  readonly reason?: string;
  /** By what it was injected: `policy` or `webhook`, and the digest of what it got. */
  readonly injected?: { readonly way: string; readonly digest: string };
  /** The annotations that decide, as the Pod has them. */
  readonly annotations: Readonly<Record<string, string>>;
  /** What the Pod would get if it were created now. */
  readonly compiled: CompiledState;
  readonly objects: readonly ObjectState[];
  readonly admission: { readonly policy: string; readonly webhook: string };
  readonly sidecar?: {
    readonly image: string;
    readonly state?: string;
    /** Lines about its sources, as the running sidecar reports them. */
    readonly account?: readonly string[];
  };
  readonly flags: readonly ObjectState[];
  readonly isWell: boolean;
  readonly advice: string;
}

export interface CompiledState {
  readonly state:
    "compiled" | "not-compiled" | "refused" | "no-injection" | "not-installed" | "unreadable" | "not-asked";
  readonly digest?: string;
  readonly message: string;
}

/** An object that the flags come from, and what its conditions say. */
export interface ObjectState {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: "accepted" | "refused" | "unjudged" | "missing" | "unreadable";
  readonly sentences: readonly string[];
  /** Of a FeatureFlag whose newest version goes to no further agents: why. */
  readonly rollout?: string;
}
