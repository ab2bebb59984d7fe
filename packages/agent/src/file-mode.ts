import { integer, type ValueType } from "@bunting/runtime";

/** Permission bits in octal, as for chmod. */
export const fileMode: ValueType<number> = {
  ...integer({ min: 0, max: 0o777 }),
  placeholder: "octal",
  range: undefined,
  fromTexts: (texts) => readMode(texts.at(-1) ?? ""),
  fromConfig: (value) => readMode(`${typeof value === "number" ? value : JSON.stringify(value)}`),
  show: (value) => value.toString(8).padStart(4, "0"),
};

function readMode(value: string): number {
  if (!/^0?o?[0-7]{3}$/.test(value))
    throw new Error(`expected permissions in octal such as 0660, got ${JSON.stringify(value)}`);
  return Number.parseInt(value.replace("o", ""), 8);
}
