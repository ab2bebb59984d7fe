import type { Scope } from "../scope.js";
import type { Value } from "../value.js";
import type { Compile } from "./operator.js";

/**
 * Runs data as a rule. A few operators evaluate what their arguments gave once more; then an object in the context that has one key is a
 * rule like any other. It may lead to itself, which the scope bounds, and it is compiled each time.
 */
export function runAsRule(rule: Value, data: Value, scope: Scope, compile: Compile): Value {
  if (isInert(rule, scope)) return rule;
  scope.enterDataRule();
  const result = compile(rule, "plain").evaluate(data, scope);
  scope.leaveDataRule();
  return result;
}

/** True for a value that gives itself when it is run as a rule: one without objects in it. Its size counts as work. */
export function isInert(value: Value, scope: Scope): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (!Array.isArray(value)) {
    chargeTree(value, scope);
    return false;
  }
  scope.charge(value.length);
  return (value as readonly Value[]).every((item) => isInert(item, scope));
}

function chargeTree(value: Value, scope: Scope): void {
  if (typeof value !== "object" || value === null) return;
  const members = Object.values(value) as readonly Value[];
  scope.charge(1 + members.length);
  for (const member of members) chargeTree(member, scope);
}
