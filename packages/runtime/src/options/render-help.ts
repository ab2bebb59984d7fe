import { flagName, publicOptions, type OptionSpec, type OptionTable } from "./option.js";

export interface CommandHelp {
  /** `bunting-proxy start`. */
  readonly usage: string;
  readonly describe: string;
  readonly table: OptionTable;
  readonly epilogue: string;
}

const lineWidth = 110;

/** The text of `--help`: every option, by group, with its default, range and environment variables. */
export function renderHelp({ usage, describe, table, epilogue }: CommandHelp): string {
  const groups = new Map<string, [flags: string, text: string][]>();
  for (const [key, spec] of publicOptions(table)) {
    const rows = groups.get(spec.group) ?? [];
    rows.push([flagsOf(key, spec), textOf(spec)]);
    groups.set(spec.group, rows);
  }
  const sections = [...groups].map(([group, rows]) => `${group}:\n${twoColumns(rows)}`);
  return [`Usage: ${usage}`, describe, ...sections, epilogue].join("\n\n");
}

/** `-p, --port`; a flag without a short form is indented as far. */
function flagsOf(key: string, spec: OptionSpec<unknown>): string {
  const names = [flagName(key, spec), ...(spec.aliases ?? [])].map((name) => `--${name}`);
  return `${spec.short === undefined ? "    " : `-${spec.short}, `}${names.join(", ")}`;
}

function textOf({ type, describe, ignoredBecause, default: value, env }: OptionSpec<unknown>): string {
  const facts = [`default ${type.show(value)}`];
  if (type.range !== undefined) facts.push(`allowed ${type.range}`);
  if (env.length > 0) facts.push(`env ${env.join(", ")}`);
  return [
    ...(type.placeholder === "" ? [] : [`<${type.placeholder}>`]),
    describe,
    ...(ignoredBecause === undefined ? [] : [`Accepted and ignored: ${ignoredBecause}.`]),
    `[${facts.join("; ")}]`,
  ].join(" ");
}

function twoColumns(rows: readonly (readonly [flags: string, text: string])[]): string {
  const flagsWidth = Math.max(...rows.map(([flags]) => flags.length));
  const indent = " ".repeat(flagsWidth + 4);
  return rows
    .map(([flags, text]) => {
      const lines = wrap(text, lineWidth - indent.length);
      return `  ${flags.padEnd(flagsWidth)}  ${lines.join(`\n${indent}`)}`;
    })
    .join("\n");
}

/** Breaks text between words; a word that is longer than a line stays whole. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
