import type { Scope } from "../scope.js";
import { isList, type Value } from "../value.js";
import type { Compile } from "./operator.js";

/** To compile something costs several times what it costs to visit it. */
const workPerNode = 8;

/**
 * Runs data as a rule. A few operators evaluate what their arguments gave once more; then an object in the context that has one key is a
 * rule like any other. It may lead to itself, which the scope bounds, and it is compiled each time.
 */
export function runAsRule(rule: Value, data: Value, scope: Scope, compile: Compile): Value {
  if (isInert(rule, scope)) return rule;
  chargeAsRule(rule, scope);
  scope.enterDataRule();
  const result = compile(rule, "plain").evaluate(data, scope);
  scope.leaveDataRule();
  return result;
}

/** True for a value that gives itself when it is run as a rule: one without objects in it. */
export function isInert(value: Value, scope: Scope): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (!isList(value)) return false;
  scope.charge(value.length);
  return value.every((item) => isInert(item, scope));
}

/** Counts as work that a value is compiled. */
export function chargeAsRule(value: Value, scope: Scope): void {
  scope.charge(workPerNode);
  if (typeof value !== "object" || value === null) return;
  for (const member of Object.values(value) as readonly Value[]) chargeAsRule(member, scope);
}
