import type { Scope } from "../scope.js";
import { isList, type Value } from "../value.js";
import type { Compile } from "./operator.js";

/**
 * Compiling a value costs several times as much as visiting it, and memory above all, all of it at once: measured, 2 KB for an
 * object, which is an operator then, 1 KB for a list, and 0.7 and 0.3 KB for a text that is a path, and for each further step of
 * it. So what one request has compiled takes up to 20 MB, most of which is garbage at its end.
 */
const workPerValue = 8;
const workPerObject = 512;
const workPerList = 192;
const workPerText = 64;
const workPerStep = 64;
const workPerCharacter = 4;

/**
 * Runs data as a rule. A few operators evaluate the results of their arguments once more, so that an object with one key in the context
 * becomes a rule. It is compiled each time. It may lead to itself, which the scope limits.
 */
export function runAsRule(rule: Value, data: Value, scope: Scope, compile: Compile): Value {
  if (isInert(rule, scope)) return rule;
  chargeAsRule(rule, scope);
  scope.enterDataRule();
  const result = compile(rule, "plain").evaluate(data, scope);
  scope.leaveDataRule();
  return result;
}

/** True for a value that is its own result when it is run as a rule: one without objects. */
export function isInert(value: Value, scope: Scope): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (!isList(value)) return false;
  scope.charge(value.length);
  return value.every((item) => isInert(item, scope));
}

export function chargeAsRule(value: Value, scope: Scope): void {
  scope.charge(workPerValue);
  if (typeof value === "string") chargePath(value, scope);
  if (typeof value !== "object" || value === null) return;
  if (isList(value)) {
    scope.charge(workPerList + value.length);
    for (const item of value) chargeAsRule(item, scope);
    return;
  }
  scope.charge(workPerObject);
  scope.chargeMembers(value);
  for (const key of Object.keys(value)) {
    scope.chargeText(key);
    chargeAsRule(value[key] ?? null, scope);
  }
}

function chargePath(text: string, scope: Scope): void {
  scope.charge(workPerText + workPerCharacter * text.length);
  for (let at = text.indexOf("."); at >= 0; at = text.indexOf(".", at + 1)) scope.charge(workPerStep);
}
