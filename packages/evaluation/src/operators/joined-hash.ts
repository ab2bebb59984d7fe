import { murmur3 } from "../murmur3.js";
import type { Scope } from "../scope.js";
import { toText } from "../to-text.js";
import { isSpace, trimSpace } from "../trim-space.js";
import { isList, isMap, type Value } from "../value.js";
import type { Compile } from "./operator.js";

/**
 * The hash of `{"cat": [a, b]}`, the usual bucketing key, without joining the texts, which would take longer than hashing them.
 * Undefined if the rule is anything else.
 */
export function compileJoinedHash(
  rule: Value,
  compile: Compile,
): ((data: Value, scope: Scope) => number) | undefined {
  const args = isMap(rule) && Object.keys(rule).length === 1 ? rule["cat"] : undefined;
  if (args === undefined || !isList(args) || args.length !== 2) return undefined;
  const { evaluate: first } = compile(args[0] ?? null);
  const { evaluate: second } = compile(args[1] ?? null);
  return (data, scope) => {
    const start = toText(first(data, scope));
    return joinedHash(start, toText(second(data, scope)), scope);
  };
}

function joinedHash(start: string, end: string, scope: Scope): number {
  scope.chargeReading(start);
  scope.chargeReading(end);
  const isTrimmed =
    start === "" || end === "" || isSpace(start.charCodeAt(0)) || isSpace(end.charCodeAt(end.length - 1));
  return isTrimmed ? murmur3(trimSpace(start + end)) : murmur3(start, end);
}
