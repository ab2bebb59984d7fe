import { flagName, publicOptions, type OptionSpec, type OptionTable } from "@bunting/runtime";

/** An option as a value of a chart, under the name of its flag. */
export interface ChartOption {
  readonly name: string;
  readonly spec: OptionSpec<unknown>;
  /** For templates, which check what a schema could only refuse with a pattern. */
  readonly check: OptionCheck;
}

interface OptionCheck {
  readonly placeholder: string;
  readonly default: string;
  readonly range?: string;
  readonly minMs?: number;
  readonly maxMs?: number;
  readonly allowsZero?: boolean;
}

/**
 * The options that users of a chart may set.
 *
 * @param notInChart names of those that the chart sets itself, or that make no sense in a Pod
 */
export function chartOptions(table: OptionTable, notInChart: readonly string[]): ChartOption[] {
  const all = publicOptions(table)
    .filter(([, spec]) => spec.ignoredBecause === undefined)
    .map(([key, spec]) => ({ name: flagName(key, spec), spec, check: checkOf(spec) }));
  const unknown = notInChart.filter((name) => !all.some((option) => option.name === name));
  if (unknown.length > 0) throw new Error(`there is no option ${unknown.join(", ")}`);
  return all.filter(({ name }) => !notInChart.includes(name));
}

function checkOf({ type, default: value }: OptionSpec<unknown>): OptionCheck {
  const { placeholder, range } = type;
  const check = { placeholder, default: type.show(value), ...(range === undefined ? {} : { range }) };
  if (placeholder !== "duration" || range === undefined) return check;
  const [, min = "", max = "", orZero] = /^(\S+) to (\S+?)(, or 0)?$/.exec(range) ?? [];
  return {
    ...check,
    minMs: type.fromTexts([min]) as number,
    maxMs: type.fromTexts([max]) as number,
    allowsZero: min === "0" || orZero !== undefined,
  };
}

/** The JSON schema of `options` in values. */
export function schemaOfOptions(options: readonly ChartOption[]): unknown {
  const properties = Object.fromEntries(
    options.map(({ name, spec }) => [name, { description: spec.describe, ...typeOf(spec) }]),
  );
  return { type: "object", additionalProperties: false, properties };
}

function typeOf({ type }: OptionSpec<unknown>): object {
  if (type.isSwitch) return { type: "boolean" };
  if (type.placeholder.includes("|")) return { enum: type.placeholder.split("|") };
  switch (type.placeholder) {
    case "n": {
      const [minimum, maximum] = (type.range ?? "").split(" to ").map(Number);
      return { type: "integer", minimum, maximum };
    }
    // An integer for 0, or a number of bytes; the templates check the text, because their errors are sentences.
    case "duration":
    case "bytes":
      return { type: ["string", "integer"] };
    case "port":
      return { type: "integer", minimum: 0, maximum: 65_535 };
    case "quantity":
      return { type: ["string", "number"] };
    default:
      return { type: "string" };
  }
}

const width = 140;

/** The options as comments of values.yaml. */
export function commentedOptions(options: readonly ChartOption[]): string {
  return options
    .map(({ name, spec, check }) => {
      const allowed = check.range === undefined ? "" : ` Allowed: ${check.range}.`;
      const value = check.default === "none" ? '""' : check.default;
      const lines = [`${name}: ${value}`, ...wrap(`${spec.describe}${allowed}`).map((line) => `  ${line}`)];
      return lines.map((line) => `# ${line}\n`).join("");
    })
    .join("");
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width - 4) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
