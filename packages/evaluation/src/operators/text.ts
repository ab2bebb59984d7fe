import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { toInteger, toNumber } from "../to-number.js";
import { toText } from "../to-text.js";
import { trimSpace } from "../trim-space.js";
import { isList, type Value } from "../value.js";
import { argument, binaryOperator, eager, listOf, type Operator } from "./operator.js";

/** Joins texts. White space around the result is removed, unless there is only one text. */
export const cat: Operator = binaryOperator(
  (a, b, scope) => joined(toText(a) + toText(b), scope),
  (args, scope) => {
    if (typeof args === "string") return args;
    const texts = listOf(args, scope);
    if (texts.length === 1) return toText(argument(texts, 0));
    let text = "";
    for (const item of texts) {
      const part = toText(item);
      // A number of seven bytes in a context is a text of 309 characters, so all of them are too much before they are joined.
      scope.chargeReading(part);
      text += part;
    }
    return trimSpace(text);
  },
);

function joined(text: string, scope: Scope): string {
  scope.chargeReading(text);
  return trimSpace(text);
}

/** Part of a text, in code points: from a start (from the end, if negative), for a length (a negative one leaves that many off the end). */
export const substr: Operator = eager((args, scope) => {
  const values = listOf(args, scope);
  const text = toText(argument(values, 0));
  scope.chargeText(text);
  const wanted = toInteger(toNumber(argument(values, 1), scope));
  const hasPairs = hasSurrogates(text);
  const length = hasPairs ? pointsIn(text, scope) : text.length;
  const from = wanted < 0 ? wanted + length : wanted;
  if (from < 0 || from > length) return text;
  const count = values.length === 3 ? toInteger(toNumber(argument(values, 2), scope)) : length;
  const to = count < 0 ? count + length : Math.min(from + count, length);
  if (to < from) return fail("the end of the text asked for lies before its beginning");
  if (!hasPairs) return text.slice(from, to);
  const start = unitAt(text, 0, from);
  return text.slice(start, unitAt(text, start, to - from));
});

function pointsIn(text: string, scope: Scope): number {
  scope.charge(text.length);
  let points = 0;
  for (let unit = 0; unit < text.length; unit = unitAt(text, unit, 1)) points++;
  return points;
}

/** Where so many code points after a place end. A list of them would take forty bytes for each. */
function unitAt(text: string, start: number, points: number): number {
  let unit = start;
  for (let point = 0; point < points; point++) unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  return unit;
}

function hasSurrogates(text: string): boolean {
  return /[\ud800-\udfff]/.test(text);
}

export const startsWith: Operator = onTwoTexts((text, part) => text.startsWith(part));
export const endsWith: Operator = onTwoTexts((text, part) => text.endsWith(part));

/** Anything but exactly two strings gives null. */
function onTwoTexts(test: (text: string, part: string) => boolean): Operator {
  const applyTwo = (text: Value, part: Value, scope: Scope): Value => {
    if (typeof text !== "string" || typeof part !== "string") return null;
    scope.chargeText(part);
    return test(text, part);
  };
  return binaryOperator(applyTwo, (args, scope) =>
    isList(args) && args.length === 2 ? applyTwo(argument(args, 0), argument(args, 1), scope) : null,
  );
}
