import { compareVersions, parseVersion, type Version } from "../semver.js";
import type { Scope } from "../scope.js";
import { numberText } from "../to-text.js";
import { isList, type Value } from "../value.js";
import { eager, type Operator } from "./operator.js";

type Relation = (a: Version, b: Version) => boolean;

const relations = new Map<Value, Relation>([
  ["=", (a, b) => compareVersions(a, b) === 0],
  ["!=", (a, b) => compareVersions(a, b) !== 0],
  ["<", (a, b) => compareVersions(a, b) < 0],
  ["<=", (a, b) => compareVersions(a, b) <= 0],
  [">", (a, b) => compareVersions(a, b) > 0],
  [">=", (a, b) => compareVersions(a, b) >= 0],
  ["^", (a, b) => a.major === b.major],
  ["~", (a, b) => a.major === b.major && a.minor === b.minor],
]);

const general = eager((args, scope) => {
  if (!isList(args) || args.length !== 3) return null;
  const [a = null, relation = null, b = null] = args;
  return compare(a, relations.get(relation), versionOf(b, scope), scope);
});

/** Whether two versions are related: `[version, relation, version]`. Anything else gives null. */
export const semVer: Operator = (args, compile) => {
  if (!isList(args) || args.length !== 3) return general(args, compile);
  const [a = null, relationName = null, b = null] = args;
  if (typeof relationName !== "string" || typeof b !== "string") return general(args, compile);
  const { evaluate } = compile(a);
  const relation = relations.get(relationName);
  const version = parseVersion(b);
  return (data, scope) => compare(evaluate(data, scope), relation, version, scope);
};

function compare(a: Value, relation: Relation | undefined, b: Version | undefined, scope: Scope): Value {
  if (relation === undefined || b === undefined) return null;
  const version = versionOf(a, scope);
  return version === undefined ? null : relation(version, b);
}

/** From this number on Go prints an exponent, which is not a version. */
const minExponential = 1e6;

/** A number counts as the version that Go prints it as. */
function versionOf(value: Value, scope: Scope): Version | undefined {
  if (typeof value === "string") {
    scope.chargeReading(value);
    return parseVersion(value);
  }
  if (typeof value === "number")
    return Math.abs(value) < minExponential ? parseVersion(numberText(value)) : undefined;
  return typeof value === "bigint" ? parseVersion("0") : undefined;
}
