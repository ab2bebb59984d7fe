import type { InstalledOperator } from "../operator/installed-operator.js";

/** The operator that gives Pods their sidecars. It decides which objects have to be there. */
export type OperatedBy =
  | "bunting" // our operator, also where it is missing.
  | "stock" // the open-feature-operator alone. Proxies and sidecars may be ours.
  | "nobody"; // sidecars are written by hand, or applications ask the proxy themselves.

export interface OperationFacts {
  readonly operators: readonly Pick<InstalledOperator, "isStock">[];
  readonly hasProxies: boolean;
  /** True if a FeatureFlagSource or a Pod is there that only an operator obeys. */
  readonly isAskedFor: boolean;
}

/** Without an operator, ours is missed where something asks for one, and where there is no proxy either. */
export function operatedBy({ operators, hasProxies, isAskedFor }: OperationFacts): OperatedBy {
  if (operators.some(({ isStock }) => !isStock)) return "bunting";
  if (operators.length > 0) return "stock";
  return hasProxies && !isAskedFor ? "nobody" : "bunting";
}
