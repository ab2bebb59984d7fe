import { compareUtf8 } from "@bunting/protocol";
import type { AllAnswer, Answer, AnyFlagAnswer } from "../answer.js";
import { AnswerSize } from "../answer-size.js";
import type { Dialect } from "../dialect.js";
import { encodedOnce } from "../encoded-object.js";
import type { Accessor, TypedValue } from "../typed-value.js";

/**
 * Responses in protobuf's JSON form, members in the order of the fields: value, reason, variant, metadata. Fields without presence are
 * written even if empty (flagd's EmitUnpopulated); fields with presence are omitted if unset.
 */
export function resolveResponseJson(
  accessor: Accessor,
  { value, reason, variant, metadata }: Answer,
): string {
  const valueMember = value === undefined ? "" : `"value":${valueJson(accessor, value)},`;
  const variantMember = variant === undefined ? "" : `,"variant":${JSON.stringify(variant)}`;
  return `{${valueMember}"reason":"${reason}"${variantMember},"metadata":${metadata.json}}`;
}

/** Flags in the order of their keys, as protobuf writes maps. */
export function resolveAllResponseJson(dialect: Dialect, { flags, metadata }: AllAnswer): string {
  const hasMetadata = dialect.resolveAll === "with-metadata";
  const size = new AnswerSize();
  const members = [...flags]
    .sort((a, b) => compareUtf8(a.key, b.key))
    .map((flag) => {
      const member = `${JSON.stringify(flag.key)}:${anyFlagJson(flag, hasMetadata)}`;
      size.add(member.length);
      return member;
    });
  return `{"flags":{${members.join(",")}}${hasMetadata ? `,"metadata":${metadata.json}` : ""}}`;
}

const anyFlagMember: Readonly<Record<Accessor, string>> = {
  Boolean: "boolValue",
  String: "stringValue",
  Float: "doubleValue",
  Int: "doubleValue",
  Object: "objectValue",
};

function anyFlagJson(
  { accessor, value, reason, variant, metadata }: AnyFlagAnswer,
  hasMetadata: boolean,
): string {
  const valueMember = `"${anyFlagMember[accessor]}":${valueJson("Float", value)}`;
  const tail = hasMetadata ? `,"metadata":${metadata.json}` : "";
  return `{"reason":"${reason}","variant":${JSON.stringify(variant)},${valueMember}${tail}}`;
}

function valueJson(accessor: Accessor, value: TypedValue): string {
  if (typeof value === "object") return encodedOnce(value).json;
  return accessor === "Int" && typeof value === "number" ? `"${int64Text(value)}"` : JSON.stringify(value);
}

const [minInt64, maxInt64] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Protobuf's JSON has int64 as a string; a value out of range becomes the least, as in Go. */
function int64Text(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  const whole = BigInt(value);
  return String(whole > maxInt64 || whole < minInt64 ? minInt64 : whole);
}
