import type { AllAnswer, Answer, AnyFlagAnswer } from "../answer.js";
import { AnswerSize } from "../answer-size.js";
import type { Dialect } from "../dialect.js";
import { encodedOnce } from "../encoded-object.js";
import type { Accessor, TypedValue } from "../typed-value.js";
import { WireWriter } from "./wire-writer.js";

/** All responses share one writer, because encoding never awaits. */
const writer = new WireWriter();

/** `{ value = 1, reason = 2, variant = 3, metadata = 4 }`, with or without presence of value and variant. */
export function responseEncoder(dialect: Dialect, accessor: Accessor): (answer: Answer) => Buffer {
  const { hasPresence } = dialect;
  return ({ value, reason, variant, metadata }) => {
    writer.reset();
    writer.bytesField(4, metadata.struct);
    if (variant !== undefined && (hasPresence || variant !== "")) writer.stringField(3, variant);
    writer.stringField(2, reason);
    if (value !== undefined && (hasPresence || !isUnwritten(value))) writeTyped(accessor, 1, value);
    return writer.finish();
  };
}

/** `{ flags = 1, metadata = 2 }`; schema.v1 has no metadata, neither here nor in the flags. */
export function encodeAllResponse(dialect: Dialect, { flags, metadata }: AllAnswer): Buffer {
  const hasMetadata = dialect.resolveAll === "with-metadata";
  const size = new AnswerSize();
  writer.reset();
  if (hasMetadata) writer.bytesField(2, metadata.struct);
  for (let i = flags.length - 1; i >= 0; i--) {
    const flag = flags[i];
    if (flag === undefined) continue;
    const entry = writer.written;
    writeAnyFlag(flag, hasMetadata);
    writer.message(2, entry);
    writer.stringField(1, flag.key);
    writer.message(1, entry);
    size.add(writer.written - entry);
  }
  return writer.finish();
}

const anyFlagField: Readonly<Record<Accessor, number>> = {
  Boolean: 3,
  String: 4,
  Float: 5,
  Int: 5,
  Object: 6,
};

function writeAnyFlag(flag: AnyFlagAnswer, hasMetadata: boolean): void {
  if (hasMetadata) writer.bytesField(7, flag.metadata.struct);
  writeTyped(flag.accessor, anyFlagField[flag.accessor], flag.value);
  if (flag.variant !== "") writer.stringField(2, flag.variant);
  writer.stringField(1, flag.reason);
}

function writeTyped(accessor: Accessor, field: number, value: TypedValue): void {
  switch (typeof value) {
    case "boolean":
      writer.boolField(field, value);
      break;
    case "string":
      writer.stringField(field, value);
      break;
    case "number":
      if (accessor === "Int") writer.int64Field(field, value);
      else writer.doubleField(field, value);
      break;
    default:
      writer.bytesField(field, encodedOnce(value).struct);
  }
}

/** True if proto3 omits the value in a field without presence. Minus zero is written, because its bits are not all zero. */
function isUnwritten(value: TypedValue): boolean {
  return value === false || value === "" || Object.is(value, 0);
}
