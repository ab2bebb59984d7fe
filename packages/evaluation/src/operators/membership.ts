import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { isSameText } from "../comparison.js";
import { containsText } from "../find-text.js";
import { toNumber } from "../to-number.js";
import { isList, isMap, isNumber, type Value } from "../value.js";
import { argument, binaryOperator, eager, listOf, type Operator } from "./operator.js";

/** A list in a rule with at least this many strings is searched by hash. */
const minIndexed = 8;

/** V8 hashes longer texts by their length alone: in a list they are compared instead. */
const maxHashed = 1024;

/** V8 searches for no longer text: at worst it compares all of it at each place. */
const maxNative = 64;

const general = binaryOperator(isIn, (args, scope) => {
  const values = listOf(args, scope);
  return isIn(argument(values, 0), values[1] ?? null, scope);
});

/** Whether a text contains another, or a list an item. A list within the list is a range from its first to its second number. */
export const isWithin: Operator = (args, compile) => {
  const container = isList(args) && args.length === 2 ? argument(args, 1) : null;
  if (!isList(args) || !isList(container) || !container.every((item) => typeof item === "string"))
    return general(args, compile);
  const { evaluate } = compile(argument(args, 0));
  const hasText = container.length < minIndexed ? searched(container) : indexed(container);
  return (data, scope) => {
    const item = evaluate(data, scope);
    return typeof item === "string" ? hasText(item, scope) : isIn(item, container, scope);
  };
};

type HasText = (text: string, scope: Scope) => boolean;

function searched(texts: readonly string[]): HasText {
  return (text, scope) => texts.some((each) => isSameText(each, text, scope));
}

function indexed(texts: readonly string[]): HasText {
  const index = new Set(texts);
  const hasLong = searched(texts.filter(({ length }) => length > maxHashed));
  return (text, scope) => {
    if (text.length > maxHashed) return hasLong(text, scope);
    scope.chargeText(text);
    return index.has(text);
  };
}

function isIn(item: Value, container: Value, scope: Scope): boolean {
  if (typeof container === "string") {
    if (typeof item !== "string") return fail("only a string can be searched for in a string");
    return isPartOf(item, container, scope);
  }
  if (!isList(container)) return false;
  scope.charge(container.length);
  for (const element of container) {
    if (matches(item, element, scope)) return true;
  }
  return false;
}

function isPartOf(part: string, text: string, scope: Scope): boolean {
  if (part.length > text.length) return false;
  if (part.length <= maxNative) {
    scope.charge(1 + (text.length * part.length) / 64);
    return text.includes(part);
  }
  scope.chargeReading(text);
  scope.chargeReading(part);
  return containsText(text, part);
}

function matches(item: Value, element: Value, scope: Scope): boolean {
  if (isList(element)) return isInRange(item, element, scope);
  if (typeof item === "number") return toNumber(element, scope) === item;
  if (typeof item === "bigint") {
    // Go's integer equals no JSON number; but an element that can't be converted to a number still fails.
    toNumber(element, scope);
    return false;
  }
  return isSame(item, element, scope);
}

function isInRange(item: Value, range: readonly Value[], scope: Scope): boolean {
  const low = argument(range, 0);
  const high = argument(range, 1);
  return toNumber(item, scope) >= toNumber(low, scope) && toNumber(high, scope) >= toNumber(item, scope);
}

/** Equality without any conversion. Two lists, or two objects, can't be compared. */
function isSame(a: Value, b: Value, scope: Scope): boolean {
  if ((isMap(a) && isMap(b)) || (isList(a) && isList(b))) return fail("objects and lists can't be compared");
  return typeof a === "string" && typeof b === "string" ? isSameText(a, b, scope) : a === b;
}

/** Whether a list contains every item of another. */
export const containsAll: Operator = onTwoLists(false, (list, wanted, scope) =>
  wanted.every((item) => contains(list, item, scope)),
);

/** Whether a list contains at least one item of another. */
export const containsAny: Operator = onTwoLists(false, (list, wanted, scope) =>
  wanted.some((item) => contains(list, item, scope)),
);

/** Whether a list contains no item of another. */
export const containsNone: Operator = onTwoLists(
  true,
  (list, wanted, scope) => !wanted.some((item) => contains(list, item, scope)),
);

function onTwoLists(
  otherwise: boolean,
  test: (list: readonly Value[], wanted: readonly Value[], scope: Scope) => boolean,
): Operator {
  return eager((args, scope) => {
    if (!isList(args) || args.length !== 2) return otherwise;
    const [list, wanted] = args;
    if (list === undefined || wanted === undefined || !isList(list) || !isList(wanted)) return otherwise;
    scope.charge(list.length * wanted.length);
    return test(list, wanted, scope);
  });
}

function contains(list: readonly Value[], wanted: Value, scope: Scope): boolean {
  return list.some((item) =>
    isNumber(item) && isNumber(wanted)
      ? toNumber(item, scope) === toNumber(wanted, scope)
      : isSame(item, wanted, scope),
  );
}
