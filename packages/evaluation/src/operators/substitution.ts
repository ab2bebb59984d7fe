import type { Scope } from "../scope.js";
import { isList, isMap, type Value } from "../value.js";
import { chargeAsRule } from "./data-rule.js";
import type { Compile } from "./operator.js";
import { readVariable } from "./variables.js";

/**
 * The rule with its variables replaced by their values in the data; variables without a value stay. This is how the engine of flagd lets a
 * rule for the items of a list see the data around the list. It has odd consequences: the data around wins over the item, an item's own
 * value becomes part of the rule, and a rule may change its form. item-rule.ts avoids it where that makes no difference.
 */
export function substituteVariables(rule: Value, data: Value, scope: Scope, compile: Compile): Value {
  // Of a text too: it may be a path, which is parsed again with the rule.
  chargeAsRule(typeof rule === "object" ? null : rule, scope);
  if (isList(rule)) return rule.map((item) => substituteVariables(item, data, scope, compile));
  if (!isMap(rule)) return rule;
  scope.chargeMembers(rule);
  const members: [string, Value][] = [];
  for (const [key, member] of Object.entries(rule)) {
    if (key === "var") {
      const value = isOfItem(member) ? null : valueOf(member, data, scope, compile);
      if (value !== null) {
        chargeAsRule(value, scope);
        return value;
      }
      chargeAsRule(member, scope);
      members.push([key, member]);
    } else members.push([key, substituteVariables(member, data, scope, compile)]);
  }
  return Object.fromEntries(members);
}

function valueOf(variable: Value, data: Value, scope: Scope, compile: Compile): Value {
  return readVariable(compile(variable, "plain").evaluate(data, scope), data, scope);
}

/** A path that means the item and never the data around the list: the empty one, or one that begins with a dot. */
export function isOfItem(path: Value): boolean {
  return typeof path === "string" && (path === "" || path.startsWith("."));
}
