/** Reads a case's own `--name=value` arguments. */

export function countParameter(
  parameters: ReadonlyMap<string, string>,
  name: string,
  normal: number,
): number {
  const text = parameters.get(name);
  if (text === undefined) return normal;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1)
    throw new Error(`--${name} takes a number from 1 up, not "${text}"`);
  return count;
}

/** Sizes such as `10KB,1MB`; powers of ten. */
export function sizesParameter(
  parameters: ReadonlyMap<string, string>,
  name: string,
  normal: readonly number[],
): readonly number[] {
  const text = parameters.get(name);
  if (text === undefined) return normal;
  return text.split(",").map((size) => {
    const [, digits, unit = ""] = /^(\d+)(|KB|MB)$/.exec(size) ?? [];
    if (digits === undefined) throw new Error(`--${name} takes sizes such as 10KB,1MB, not "${size}"`);
    return Number(digits) * (unit === "MB" ? 1_000_000 : unit === "KB" ? 1000 : 1);
  });
}

/** Some of these names, separated by commas; `normal` if not given. */
export function namesParameter(
  parameters: ReadonlyMap<string, string>,
  name: string,
  all: readonly string[],
  normal: readonly string[],
): readonly string[] {
  const names = parameters.get(name)?.split(",") ?? normal;
  const unknown = names.find((each) => !all.includes(each));
  if (unknown !== undefined) throw new Error(`--${name} takes some of ${all.join(",")}, not "${unknown}"`);
  return names;
}
