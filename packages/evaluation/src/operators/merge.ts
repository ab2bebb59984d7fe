import { isList, isPrimitive, type Value } from "../value.js";
import { eager, listOf, type Operator } from "./operator.js";

/** All items of several lists; anything that is not a list is an item itself. */
export const merge: Operator = eager((args, scope) => {
  if (isPrimitive(args)) return [args];
  const merged: Value[] = [];
  for (const item of listOf(args, scope)) {
    if (!isList(item)) merged.push(item);
    else for (const member of listOf(item, scope)) merged.push(member);
  }
  return merged;
});
