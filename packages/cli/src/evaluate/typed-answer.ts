import type { Explanation } from "@bunting/evaluation";
import { isJsonObject, type JsonValue } from "@bunting/protocol";

export type AskedType = "any" | "boolean" | "string" | "integer" | "float" | "object";

/** What an application gets. */
export interface TypedAnswer {
  readonly value: JsonValue | undefined;
  readonly variant: string | undefined;
  readonly reason: string;
  readonly errorCode: string | undefined;
  /** Why there is no value. */
  readonly message: string | undefined;
}

/** The answer of an agent that is asked for a value of this type. */
export function typedAnswer(
  { resolution, failure }: Pick<Explanation, "resolution" | "failure">,
  type: AskedType,
): TypedAnswer {
  const { value, variant, reason, errorCode } = resolution;
  if (errorCode !== undefined) return { value, variant, reason, errorCode, message: failure };
  if (value === undefined) return { value, variant, reason, errorCode, message: absent(reason) };
  return ofType({ variant, reason }, value, type);
}

/** An answer whose value is asked for as this type. */
export function ofType(
  { variant, reason }: Pick<TypedAnswer, "variant" | "reason">,
  value: JsonValue,
  type: AskedType,
): TypedAnswer {
  const typed = asType(value, type);
  if (typed !== undefined) return { value: typed, variant, reason, errorCode: undefined, message: undefined };
  const message = `the value ${JSON.stringify(value)} is not of the type ${type}`;
  return { value: undefined, variant, reason: "ERROR", errorCode: "TYPE_MISMATCH", message };
}

function absent(reason: string): string {
  return reason === "DISABLED"
    ? "the flag is disabled: applications use the default in their code"
    : "there is no default variant: applications use the default in their code";
}

/** As the agent does it: an integer is a number without its fraction, and a list is no object. */
function asType(value: JsonValue, type: AskedType): JsonValue | undefined {
  switch (type) {
    case "any":
      return value;
    case "integer":
      return typeof value === "number" ? Math.trunc(value) + 0 : undefined;
    case "float":
      return typeof value === "number" ? value : undefined;
    case "object":
      return isJsonObject(value) ? value : undefined;
    default:
      return typeof value === type ? value : undefined;
  }
}
