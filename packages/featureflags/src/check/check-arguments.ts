import { parseDistribution, parseVersion } from "@bunting/evaluation";
import type { JsonValue } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";

const relations = ["=", "!=", "<", "<=", ">", ">=", "^", "~"];

/** Why an operator always gives null with the arguments it has; undefined if they are in order, or not known before an evaluation. */
export function argumentProblem(name: string, args: JsonValue): string | undefined {
  if (name === "sem_ver") return semVerProblem(args);
  return name === "fractional" ? fractionalProblem(args) : undefined;
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
