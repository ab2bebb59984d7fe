import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";

/**
 * The most values that the rule of a flag may have, or all evaluators together, to be checked: a thousand times what people write. Each of them
 * may be a finding with a path of its own, and one flag is checked in one step.
 */
export const maxRuleValues = 10_000;

/** True if a FeatureFlag has a rule, or evaluators, that are too large to check. It goes no further than it must, and not by recursion. */
export function hasHugeRule({ spec = null }: JsonObject): boolean {
  const flagSpec = fieldOf(spec, "flagSpec");
  if (isHuge(fieldOf(flagSpec, "$evaluators"))) return true;
  const flags = fieldOf(flagSpec, "flags");
  return isJsonObject(flags) && Object.values(flags).some((flag) => isHuge(fieldOf(flag, "targeting")));
}

function isHuge(value: JsonValue): boolean {
  let left = maxRuleValues;
  const rest = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (--left < 0) return true;
    if (typeof next !== "object" || next === null) continue;
    const members = Object.values(next) as readonly JsonValue[];
    if (members.length > left) return true;
    for (const member of members) rest.push(member);
  }
  return false;
}

function fieldOf(value: JsonValue, name: string): JsonValue {
  return isJsonObject(value) ? (value[name] ?? null) : null;
}
