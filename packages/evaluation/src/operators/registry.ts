import { absolute, difference, maximum, minimum, product, quotient, remainder, sum } from "./arithmetic.js";
import {
  equal,
  greater,
  greaterOrEqual,
  less,
  lessOrEqual,
  strictlyEqual,
  strictlyUnequal,
  unequal,
} from "./comparisons.js";
import { fractional } from "./fractional.js";
import { all, filter, map, none, reduce, some } from "./lists.js";
import { and, conditional, not, or, truth } from "./logic.js";
import { containsAll, containsAny, containsNone, isWithin } from "./membership.js";
import { merge } from "./merge.js";
import type { Operator } from "./operator.js";
import { semVer } from "./sem-ver.js";
import { set } from "./set.js";
import { cat, endsWith, startsWith, substr } from "./text.js";
import { missingOperator, missingSome, variable } from "./variables.js";

/** All operators by their names in rules. */
export const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ["var", variable],
  ["missing", missingOperator],
  ["missing_some", missingSome],
  ["set", set],
  ["if", conditional],
  ["?:", conditional],
  ["and", and],
  ["or", or],
  ["!", not],
  ["!!", truth],
  ["==", equal],
  ["!=", unequal],
  ["===", strictlyEqual],
  ["!==", strictlyUnequal],
  ["<", less],
  ["<=", lessOrEqual],
  [">", greater],
  [">=", greaterOrEqual],
  ["+", sum],
  ["-", difference],
  ["*", product],
  ["/", quotient],
  ["%", remainder],
  ["abs", absolute],
  ["max", maximum],
  ["min", minimum],
  ["cat", cat],
  ["substr", substr],
  ["starts_with", startsWith],
  ["ends_with", endsWith],
  ["in", isWithin],
  ["contains_all", containsAll],
  ["contains_any", containsAny],
  ["contains_none", containsNone],
  ["merge", merge],
  ["filter", filter],
  ["map", map],
  ["reduce", reduce],
  ["all", all],
  ["none", none],
  ["some", some],
  ["fractional", fractional],
  ["sem_ver", semVer],
]);

/** For programs that check rules. */
export const operatorNames: readonly string[] = [...operators.keys()];
