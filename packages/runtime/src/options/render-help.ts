import { flagName, type OptionSpec, type OptionTable } from "./option.js";

export interface CommandHelp {
  /** `bunting-proxy start`. */
  readonly usage: string;
  readonly describe: string;
  readonly table: OptionTable;
  readonly epilogue: string;
}

/** The text of `--help`: every option, grouped, with its default and environment variables. yargs is loaded for this alone. */
export async function renderHelp(help: CommandHelp): Promise<string> {
  const { default: yargs } = await import("yargs");
  const parser = yargs([])
    .scriptName("")
    .usage(`Usage: ${help.usage}\n\n${help.describe}`)
    .help(false)
    .version(false)
    .wrap(110)
    .epilogue(help.epilogue);
  for (const [key, spec] of Object.entries(help.table) as [string, OptionSpec<unknown>][]) {
    const name = flagName(key, spec);
    parser.option(name, {
      alias: [...(spec.short === undefined ? [] : [spec.short]), ...(spec.aliases ?? [])],
      describe: describe(spec),
      group: `${spec.group}:`,
      // yargs would write its own words for these; ours are in the description.
      ...(spec.type.isSwitch ? { type: "boolean" as const } : { requiresArg: false }),
    });
  }
  return parser.getHelp();
}

function describe(spec: OptionSpec<unknown>): string {
  const placeholder = spec.type.placeholder === "" ? "" : ` <${spec.type.placeholder}>`;
  const facts = [
    `default ${spec.type.show(spec.default)}`,
    ...(spec.env.length === 0 ? [] : [`env ${spec.env.join(", ")}`]),
  ];
  const notYet = spec.notYetInEffect === true ? " Accepted, not yet in effect." : "";
  return `${placeholder === "" ? "" : `${placeholder.trim()} `}${spec.describe}${notYet} [${facts.join("; ")}]`;
}
