import { parseDistribution, parseVersion } from "@bunting/evaluation";
import type { JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";
import { booleanOperators, operatorOf } from "./rule-results.js";

const relations = ["=", "!=", "<", "<=", ">", ">=", "^", "~"];

/** Why an operator always gives null with the arguments it has; undefined if they are in order, or not known before an evaluation. */
export function argumentProblem(name: string, args: JsonValue): string | undefined {
  if (name === "sem_ver") return semVerProblem(args);
  if (name === "fractional") return fractionalProblem(args) ?? keyProblem(args);
  return textOperators.has(name) ? textProblem(name, args) : undefined;
}

/** They fail, or give null, for an argument that is no text; `cat` and `substr` take numbers as well. */
const textOperators = new Set(["cat", "substr", "starts_with", "ends_with"]);

function textProblem(name: string, args: JsonValue): string | undefined {
  const [first, ...others] = listOf(args) ?? [args];
  const texts = name === "substr" ? [first] : [first, ...others];
  const wrong = texts.map((arg) => booleanOperator(arg)).find((operator) => operator !== undefined);
  return wrong === undefined ? undefined : `${name} needs texts, and ${quoted(wrong)} gives true or false`;
}

/** The first argument of `fractional`, if it is no share. */
function keyProblem(args: JsonValue): string | undefined {
  const [key = null] = listOf(args) ?? [];
  const wrong = booleanOperator(key);
  if (wrong !== undefined)
    return `the key of fractional must be a text, and ${quoted(wrong)} gives true or false: fractional always chooses no variant`;
  return typeof key === "string"
    ? `the key ${quoted(key)} of fractional is the same for everybody, who all get one variant: write {"var": ${quoted(key)}} if it is a property of the context`
    : undefined;
}

/** The name of an operator that gives true or false, if the argument is one. */
function booleanOperator(arg: JsonValue | undefined): string | undefined {
  const [name] = operatorOf(arg ?? null) ?? [];
  return name !== undefined && booleanOperators.has(name) ? name : undefined;
}

function semVerProblem(args: JsonValue): string | undefined {
  const list = listOf(args);
  if (list?.length !== 3) return "sem_ver needs a list of three: a version, a relation and a version";
  const [, relation = null, version = null] = list;
  if (typeof relation !== "object" && !relations.includes(String(relation)))
    return `${quoted(String(relation))} is no relation of sem_ver: use one of ${relations.join(" ")}`;
  if (typeof version === "number")
    return `the version ${version} is a number, which has lost the zeros at its end: put it in quotes`;
  if (typeof version === "string" && parseVersion(version) === undefined)
    return `${quoted(version)} is no version: use MAJOR.MINOR.PATCH`;
  return undefined;
}

function fractionalProblem(args: JsonValue): string | undefined {
  const list = listOf(args);
  if (list === undefined) return "fractional needs a list of [variant, weight]";
  const isKeyed = listOf(list[0] ?? null) === undefined;
  const shares = isKeyed ? list.slice(1) : list;
  if (!shares.every(isConstant)) return undefined;
  const distribution = parseDistribution(shares);
  if (distribution === undefined)
    return "fractional chooses no variant: it needs lists of a variant and a weight, which is a whole number, and a sum below 2147483648";
  return distribution.totalWeight === 0
    ? "fractional chooses no variant: all its weights are 0, or it has none"
    : undefined;
}

function listOf(value: JsonValue): readonly JsonValue[] | undefined {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : undefined;
}

/** Without an operator, so that it is the same in every evaluation. */
function isConstant(share: JsonValue): boolean {
  const parts = listOf(share) ?? [share];
  return parts.every((part) => typeof part !== "object" || part === null);
}
