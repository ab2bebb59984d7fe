import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { operatorOf, type RulePart } from "./rule-results.js";

/** Called with each operator of a rule, its arguments, and the path of its name. */
export type OnOperator = (name: string, args: JsonValue, path: readonly string[]) => void;

/** Visits the operators of a rule, and then those of the evaluators it refers to. Objects with several keys are data. */
export function walkRule(start: RulePart, evaluators: JsonObject, onOperator: OnOperator): void {
  const visited = new Set<string>();
  // One after the other: thousands of evaluators that refer to each other are deeper than the stack.
  const parts = [start];
  const walk = ({ rule, path }: RulePart): void => {
    if (Array.isArray(rule)) {
      (rule as readonly JsonValue[]).forEach((item, index) =>
        walk({ rule: item, path: [...path, String(index)] }),
      );
      return;
    }
    const found = isJsonObject(rule) ? operatorOf(rule) : undefined;
    if (found === undefined) return;
    const [name, args] = found;
    const inner = [...path, name];
    onOperator(name, args, inner);
    if (name !== "$ref") walk({ rule: args, path: inner });
    else if (typeof args === "string" && Object.hasOwn(evaluators, args) && !visited.has(args)) {
      visited.add(args);
      parts.push({ rule: evaluators[args] ?? null, path: ["$evaluators", args] });
    }
  };
  for (const part of parts) walk(part);
}
