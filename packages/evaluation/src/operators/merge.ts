import { isList, isPrimitive, type Value } from "../value.js";
import { eager, listOf, type Operator } from "./operator.js";

/** All items of several lists; anything that is not a list is an item itself. */
export const merge: Operator = eager((args, scope) => {
  if (isPrimitive(args)) return [args];
  const parts = listOf(args, scope);
  const length = parts.reduce<number>((sum, part) => sum + (isList(part) ? part.length : 1), 0);
  scope.chargeMade(length);
  // Of its length from the start: one that grows takes two and a half times as much.
  const merged = new Array<Value>(length);
  let at = 0;
  for (const part of parts) {
    if (!isList(part)) merged[at++] = part;
    else for (const item of part) merged[at++] = item;
  }
  return merged;
});
